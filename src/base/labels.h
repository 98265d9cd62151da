// The values of a label of metrics, such as names of handlers, numbered in the order in
// which they were first seen. Values beyond LABELS_MAX share the number LABELS_MAX and
// the text "other", so that a server has a bounded number of them, whatever clients
// and scripts do.
#pragma once

#include "base/names.h"

enum { LABELS_MAX = 1000 };

typedef struct Labels {
  Names numbers;
  char **texts;  // value by number, as a C string; owned
  uint32_t count, capacity;
} Labels;

void labels_init(Labels *labels);
void labels_deinit(Labels *labels);

/// Returns the number of a value, from 0 to LABELS_MAX.
uint32_t labels_number(Labels *labels, const char *text, size_t size);

/// Returns the value of a number, which labels_number has returned.
const char *labels_text(const Labels *labels, uint32_t number);
