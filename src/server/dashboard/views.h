// The contents of the dashboard's pages: each view writes one JSON object. The functions
// only read.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/text.h"
#include "server/dashboard/dashboard.h"
#include "wire/reader.h"

enum { VIEW_ROWS = 100 };  // most entries of a list

/// The content that one open page requests, from the query of its stream.
typedef struct ViewQuery {
  char view[16];                    // name of the view
  char name[NAME_MAX_BYTES + 1];    // room, or name or id of a peer
  char search[NAME_MAX_BYTES + 1];  // part of the names in a list
  char kind[NAME_MAX_BYTES + 1];    // kind of the rooms in a list
  uint32_t after;  // end of the page of a list before this one; 0: the first
} ViewQuery;

/// Reads the part of a request's target after the question mark. Returns false if it is
/// not well-formed.
bool view_read(ViewQuery *query, Text text);

/// Appends the object of the view. Returns false if the view has none.
bool view_put(const ViewQuery *query, const Dashboard *dashboard, Buf *json);
