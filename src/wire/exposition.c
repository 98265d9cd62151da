#include "wire/exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum { QUALITY_SIZE = sizeof "0.123" };  // longest quality, with its NUL (RFC 9110)

static const double WHOLE_MAX = 9007199254740992;  // 2^53

static void put(Buf *out, const char *text) { buf_append(out, text, strlen(text)); }

// --- The head of a family ---

// Writes a help text. OpenMetrics also escapes quotes.
static void put_help(Buf *out, const char *text, bool escapes_quotes) {
  for (; *text != '\0'; text++) {
    bool is_escaped = *text == '\\' || (*text == '"' && escapes_quotes);
    if (is_escaped) buf_u8(out, '\\');
    if (*text == '\n')
      put(out, "\\n");
    else
      buf_u8(out, (uint8_t)*text);
  }
}

// Returns the ending of the family's name. In Prometheus's own format, a family has the
// name of its samples, and infos are gauges.
static const char *ending(const Exposition *exposition, bool is_of_sample) {
  MetricType type = exposition->family->type;
  if (exposition->is_open_metrics && !is_of_sample) return "";
  return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

static void put_head(const Exposition *exposition, const char *what) {
  put(exposition->out, what);
  put(exposition->out, exposition->family->name);
  put(exposition->out, ending(exposition, false));
  buf_u8(exposition->out, ' ');
}

void exposition_begin(Exposition *exposition, const MetricFamily *family) {
  static const char *const TYPES[] = {"counter", "gauge", "histogram", "info"};
  bool is_gauge = family->type == METRIC_INFO && !exposition->is_open_metrics;
  Buf *out = exposition->out;
  exposition->family = family;
  put_head(exposition, "# TYPE ");
  put(out, TYPES[is_gauge ? METRIC_GAUGE : family->type]);
  if (exposition->is_open_metrics && *family->unit != '\0') {
    put_head(exposition, "\n# UNIT ");
    put(out, family->unit);
  }
  put_head(exposition, "\n# HELP ");
  put_help(out, family->help, exposition->is_open_metrics);
  buf_u8(out, '\n');
}

// --- Samples ---

// Replaces bytes that are not UTF-8 by U+FFFD, because both formats are UTF-8.
static void put_value(Buf *out, Text value) {
  for (uint32_t at = 0; at < value.size;) {
    uint32_t code;
    const char *here = value.bytes + at;
    size_t size = text_read_char(here, value.size - at, &code);
    at += size > 0 ? (uint32_t)size : 1;
    if (size == 0)
      put(out, "\xef\xbf\xbd");
    else if (*here == '\n')
      put(out, "\\n");
    else if (*here == '\\' || *here == '"')
      buf_u8(out, '\\'), buf_u8(out, (uint8_t)*here);
    else
      buf_append(out, here, size);
  }
}

// Writes the name and the labels, up to the place where a further label may follow.
static void put_labels(Buf *out, const char *name, const char *end,
                       const MetricLabel *labels) {
  put(out, name);
  put(out, end);
  for (const MetricLabel *label = labels; label->name != NULL; label++) {
    buf_u8(out, label == labels ? '{' : ',');
    put(out, label->name);
    put(out, "=\"");
    put_value(out, label->value);
    buf_u8(out, '"');
  }
}

static void put_number(Buf *out, double value) {
  char text[32];
  if (value >= 0 && value < WHOLE_MAX && (double)(uint64_t)value == value)
    snprintf(text, sizeof text, " %" PRIu64 "\n", (uint64_t)value);
  else
    snprintf(text, sizeof text, " %.15g\n", value);
  put(out, text);
}

void exposition_put(const Exposition *exposition, const MetricLabel *labels,
                    double value) {
  Buf *out = exposition->out;
  put_labels(out, exposition->family->name, ending(exposition, true), labels);
  if (labels->name != NULL) buf_u8(out, '}');
  put_number(out, value);
}

void exposition_put_histogram(const Exposition *exposition, const MetricLabel *labels,
                              const Histogram *histogram, MetricBounds bounds) {
  Buf *out = exposition->out, head = {0};
  const char *name = exposition->family->name;
  put_labels(&head, name, "_bucket", labels);
  put(&head, labels->name != NULL ? ",le=\"" : "{le=\"");
  for (unsigned shift = bounds.first; shift <= bounds.last; shift += bounds.step) {
    char bound[32];  // seconds, without an exponent
    snprintf(bound, sizeof bound, "%.6f", (double)((uint64_t)1 << shift) / 1e6);
    buf_append(out, head.data, head.size);
    put(out, bound);
    put(out, "\"}");
    put_number(out, (double)histogram_below(histogram, shift));
  }
  buf_append(out, head.data, head.size);
  put(out, "+Inf\"}");
  put_number(out, (double)histogram->count);
  buf_deinit(&head);
  const char *close = labels->name != NULL ? "}" : "";
  put_labels(out, name, "_sum", labels);
  put(out, close);
  put_number(out, (double)histogram->total_us / 1e6);
  put_labels(out, name, "_count", labels);
  put(out, close);
  put_number(out, (double)histogram->count);
}

void exposition_end(const Exposition *exposition) {
  if (exposition->is_open_metrics) put(exposition->out, "# EOF\n");
}

// --- The choice of the format ---

// Removes the text before `c` from `rest`, and returns it without the spaces around it.
static Text take(Text *rest, char c) {
  const char *end = rest->size > 0 ? memchr(rest->bytes, c, rest->size) : NULL;
  uint32_t size = end != NULL ? (uint32_t)(end - rest->bytes) : rest->size;
  Text part = {rest->bytes, size};
  *rest = (Text){rest->bytes + size + (end != NULL), rest->size - size - (end != NULL)};
  while (part.size > 0 && *part.bytes == ' ') part.bytes++, part.size--;
  while (part.size > 0 && part.bytes[part.size - 1] == ' ') part.size--;
  return part;
}

static bool is(Text text, const char *word) {
  return text.size == strlen(word) && strncasecmp(text.bytes, word, text.size) == 0;
}

// Returns a quality from 0 to 1; 0 if the text is longer than RFC 9110 allows.
static double read_quality(Text text) {
  char digits[QUALITY_SIZE] = "";
  if (text.size < sizeof digits) memcpy(digits, text.bytes, text.size);
  return strtod(digits, NULL);
}

// Reads a range of media types; raises the quality of the format to which it belongs.
static void read_range(Text range, double *open, double *plain) {
  double quality = 1;
  bool is_other_version = false;
  Text type = take(&range, ';');
  while (range.size > 0) {
    Text value = take(&range, ';'), name = take(&value, '=');
    if (is(name, "q")) quality = read_quality(value);
    is_other_version |= is(name, "version") && !is(value, "1.0.0");
  }
  if (is(type, "application/openmetrics-text")) {
    if (!is_other_version && quality > *open) *open = quality;
  } else if (is(type, "text/plain") || is(type, "text/*") || is(type, "*/*")) {
    if (quality > *plain) *plain = quality;
  }
}

bool exposition_prefers_open_metrics(Text fields) {
  double open = 0, plain = 0;
  while (fields.size > 0) {
    Text field = take(&fields, '\n');
    if (!is(take(&field, ':'), "accept")) continue;
    while (field.size > 0) read_range(take(&field, ','), &open, &plain);
  }
  return open > 0 && open >= plain;
}
