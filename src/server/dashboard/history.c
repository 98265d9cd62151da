#include "server/dashboard/history.h"

static float rate(double now, double before, double seconds) {
  return seconds > 0 ? (float)((now - before) / seconds) : 0;
}

void history_add(History *history, const HistorySample *sample) {
  const HistorySample *last = &history->last;
  double seconds = (double)(sample->at_us - last->at_us) / 1e6;
  if (history->has_last) {
    Histogram step = *sample->lateness;  // of the times since the last sample
    step.count -= history->lateness.count;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
      step.buckets[i] -= history->lateness.buckets[i];
    float *row = history->rows[history->count++ % HISTORY_ROWS];
    row[HISTORY_PEERS] = (float)sample->peers;
    row[HISTORY_ROOMS] = (float)sample->rooms;
    row[HISTORY_MESSAGES] = rate(sample->messages, last->messages, seconds);
    row[HISTORY_DELIVERIES] = rate(sample->deliveries, last->deliveries, seconds);
    row[HISTORY_LATENESS] = step.count > 0 ? (float)histogram_p99(&step) / 1000 : 0;
    row[HISTORY_CPU] = rate(sample->cpu_s, last->cpu_s, seconds);
    row[HISTORY_HEAP] = (float)sample->heap;
    row[HISTORY_ERRORS] = (float)(sample->errors - last->errors);
  }
  history->last = *sample;
  history->last.lateness = NULL;
  history->lateness = *sample->lateness;
  history->has_last = true;
}

static void put_row(const History *history, uint64_t number, Buf *json) {
  const float *row = history->rows[number % HISTORY_ROWS];
  for (int i = 0; i < HISTORY_COLUMNS; i++)
    buf_printf(json, "%c%.6g", i == 0 ? '[' : ',', row[i]);
  buf_u8(json, ']');
}

void history_put_row(const History *history, Buf *json) {
  if (history->count == 0)
    buf_printf(json, "[]");
  else
    put_row(history, history->count - 1, json);
}

void history_put(const History *history, Buf *json) {
  static const char *const NAMES[] = {
#define X(constant, name) name,
      HISTORY_COLUMN_MAP(X)
#undef X
  };
  uint64_t from = history->count > HISTORY_ROWS ? history->count - HISTORY_ROWS : 0;
  buf_printf(json, "{\"step\":%g,\"columns\":[", HISTORY_STEP_MS / 1000.0);
  for (int i = 0; i < HISTORY_COLUMNS; i++)
    buf_printf(json, "%s\"%s\"", i > 0 ? "," : "", NAMES[i]);
  buf_printf(json, "],\"rows\":[");
  for (uint64_t i = from; i < history->count; i++) {
    if (i > from) buf_u8(json, ',');
    put_row(history, i, json);
  }
  buf_printf(json, "]}");
}
