// Metrics as text: Prometheus 0.0.4, and OpenMetrics 1.0. The caller writes family by
// family, and the samples of each family after its head.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/histogram.h"
#include "wire/reader.h"

typedef enum MetricType {
  METRIC_COUNTER,
  METRIC_GAUGE,
  METRIC_HISTOGRAM,
  METRIC_INFO,  // a value of 1, whose labels say something
} MetricType;

typedef struct MetricFamily {
  const char *name;  // name with its unit, without the endings _total and _info
  MetricType type;
  const char *unit;  // "seconds", "bytes", or "" for a number
  const char *help;
} MetricFamily;

typedef struct MetricLabel {
  const char *name;  // NULL ends the list
  Text value;        // any bytes
} MetricLabel;

/// Upper bounds of a histogram's buckets: 2^first microseconds, then the powers of two
/// at a distance of `step`, up to 2^last.
typedef struct MetricBounds {
  uint8_t first, last, step;
} MetricBounds;

typedef struct Exposition {
  Buf *out;
  bool is_open_metrics;
  const MetricFamily *family;  // family of the following samples
} Exposition;

/// Writes the head of a family.
void exposition_begin(Exposition *exposition, const MetricFamily *family);

/// Writes a sample of a counter, a gauge or an info.
void exposition_put(const Exposition *exposition, const MetricLabel *labels,
                    double value);

/// Writes the samples of a histogram.
void exposition_put_histogram(const Exposition *exposition, const MetricLabel *labels,
                              const Histogram *histogram, MetricBounds bounds);

/// Returns whether a client prefers OpenMetrics. `fields` are the fields of its request,
/// each with LF at its end; their names are in lower case.
bool exposition_prefers_open_metrics(Text fields);

/// Writes the end of the text.
void exposition_end(const Exposition *exposition);
