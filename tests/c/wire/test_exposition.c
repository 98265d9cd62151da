// The two text formats of metrics: heads, escapes, numbers and histograms.
#include "wire/exposition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaks.h"

static const MetricLabel NO_LABELS[] = {{0}};

// Writes one sample in a format, and compares the whole text.
static void check(bool is_open_metrics, const MetricFamily *family,
                  const MetricLabel *labels, double value, const char *expected) {
  Buf out = {0};
  Exposition exposition = {.out = &out, .is_open_metrics = is_open_metrics};
  exposition_begin(&exposition, family);
  exposition_put(&exposition, labels, value);
  exposition_end(&exposition);
  buf_u8(&out, '\0');
  assert_string_equal((char *)out.data, expected);
  buf_deinit(&out);
}

static void a_counter_has_its_ending_in_the_head_of_one_format(void **state) {
  (void)state;
  static const MetricFamily BYTES = {"x_bytes", METRIC_COUNTER, "bytes", "Bytes."};
  check(false, &BYTES, NO_LABELS, 3,
        "# TYPE x_bytes_total counter\n"
        "# HELP x_bytes_total Bytes.\n"
        "x_bytes_total 3\n");
  check(true, &BYTES, NO_LABELS, 3,
        "# TYPE x_bytes counter\n"
        "# UNIT x_bytes bytes\n"
        "# HELP x_bytes Bytes.\n"
        "x_bytes_total 3\n"
        "# EOF\n");
}

static void an_info_is_a_gauge_for_prometheus(void **state) {
  (void)state;
  static const MetricFamily BUILD = {"x_build", METRIC_INFO, "", "The build."};
  const MetricLabel labels[] = {{"version", text_from("1.2")}, {0}};
  check(false, &BUILD, labels, 1,
        "# TYPE x_build_info gauge\n"
        "# HELP x_build_info The build.\n"
        "x_build_info{version=\"1.2\"} 1\n");
  check(true, &BUILD, labels, 1,
        "# TYPE x_build info\n"
        "# HELP x_build The build.\n"
        "x_build_info{version=\"1.2\"} 1\n"
        "# EOF\n");
}

static void texts_are_escaped(void **state) {
  (void)state;
  static const MetricFamily ODD = {"x", METRIC_GAUGE, "", "a \"b\" \\ c\nd"};
  const MetricLabel labels[] = {{"a", text_from("q\" b\\ n\n {},= \xc3\xbc")},
                                {"b", {"\xff\xc3", 2}},
                                {"c", {NULL, 0}},
                                {0}};
  check(false, &ODD, labels, 1,
        "# TYPE x gauge\n"
        "# HELP x a \"b\" \\\\ c\\nd\n"
        "x{a=\"q\\\" b\\\\ n\\n {},= \xc3\xbc\",b=\"\xef\xbf\xbd\xef\xbf\xbd\","
        "c=\"\"} 1\n");
  check(true, &ODD, NO_LABELS, 1,
        "# TYPE x gauge\n"
        "# HELP x a \\\"b\\\" \\\\ c\\nd\n"
        "x 1\n"
        "# EOF\n");
}

static void numbers_lose_nothing(void **state) {
  (void)state;
  static const MetricFamily X = {"x", METRIC_GAUGE, "", ""};
  static const struct {
    double value;
    const char *text;
  } NUMBERS[] = {
      {0, "0"},
      {9007199254740991, "9007199254740991"},
      {0.25, "0.25"},
      {-3, "-3"},
      {0.000001, "1e-06"},
      {1764349003.125, "1764349003.125"},
      {1e300, "1e+300"},
  };
  for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
    Buf out = {0};
    Exposition exposition = {.out = &out, .family = &X};
    exposition_put(&exposition, NO_LABELS, NUMBERS[i].value);
    assert_int_equal(out.size, 3 + strlen(NUMBERS[i].text));
    assert_memory_equal(out.data + 2, NUMBERS[i].text, out.size - 3);
    buf_deinit(&out);
  }
}

static void a_histogram_has_cumulative_buckets(void **state) {
  (void)state;
  static const MetricFamily TIMES = {"x_seconds", METRIC_HISTOGRAM, "seconds", ""};
  const MetricLabel labels[] = {{"handler", text_from("on_join")}, {0}};
  Histogram histogram = {0};
  histogram_add(&histogram, 15);
  histogram_add(&histogram, 16);
  histogram_add(&histogram, 63);
  histogram_add(&histogram, 2000000);
  Buf out = {0};
  Exposition exposition = {.out = &out, .family = &TIMES};
  exposition_put_histogram(&exposition, labels, &histogram, (MetricBounds){4, 20, 8});
  exposition_put_histogram(&exposition, NO_LABELS, &histogram, (MetricBounds){6, 6, 1});
  buf_u8(&out, '\0');
  assert_string_equal((char *)out.data,
                      "x_seconds_bucket{handler=\"on_join\",le=\"0.000016\"} 1\n"
                      "x_seconds_bucket{handler=\"on_join\",le=\"0.004096\"} 3\n"
                      "x_seconds_bucket{handler=\"on_join\",le=\"1.048576\"} 3\n"
                      "x_seconds_bucket{handler=\"on_join\",le=\"+Inf\"} 4\n"
                      "x_seconds_sum{handler=\"on_join\"} 2.000094\n"
                      "x_seconds_count{handler=\"on_join\"} 4\n"
                      "x_seconds_bucket{le=\"0.000064\"} 3\n"
                      "x_seconds_bucket{le=\"+Inf\"} 4\n"
                      "x_seconds_sum 2.000094\n"
                      "x_seconds_count 4\n");
  buf_deinit(&out);
}

// The fields of a request have no NUL behind them, so the copy has none.
static bool prefers(const char *fields) {
  size_t size = strlen(fields);
  char *copy = malloc(size + (size == 0));
  memcpy(copy, fields, size);
  bool is_open = exposition_prefers_open_metrics((Text){copy, (uint32_t)size});
  free(copy);
  return is_open;
}

static void the_client_chooses_the_format(void **state) {
  (void)state;
  static const char OPEN[] = "application/openmetrics-text";
  char fields[256];
  assert_false(prefers(""));
  assert_false(prefers("accept: */*\n\n"));
  assert_false(prefers("content-type: application/openmetrics-text\n"));
  snprintf(fields, sizeof fields, "content-type: x\naccept: %s\n", OPEN);
  assert_true(prefers(fields));
  static const struct {
    const char *after;
    bool is_open;
  } CASES[] = {
      {";version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       true},  // Prometheus
      {" ; Version=1.0.0 ; q=0.5, text/plain;q=0.4", true},
      {";q=0.5,text/plain;q=0.6", false},
      {";q=0", false},
      {";q=", false},
      {";q=0.00000000000001,text/plain;q=0.001", false},
      {";version=0.0.1,text/plain;q=0.1", false},
      {"2, */*", false},
      {",,;,q=,;=", true},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    snprintf(fields, sizeof fields, "accept: %s%s\n", OPEN, CASES[i].after);
    assert_int_equal(prefers(fields), CASES[i].is_open);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_counter_has_its_ending_in_the_head_of_one_format),
      TEST(an_info_is_a_gauge_for_prometheus),
      TEST(texts_are_escaped),
      TEST(numbers_lose_nothing),
      TEST(a_histogram_has_cumulative_buckets),
      TEST(the_client_chooses_the_format),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
