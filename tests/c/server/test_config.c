// The configuration: values that each source may set, the order of sources, and the
// reports of mistakes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/config.h"

static Config config;
static ConfigError error;

static int set_up(void **state) {
  (void)state;
  config_init(&config);
  error.text[0] = '\0';
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  config_deinit(&config);
  return mem_live() == 0 ? 0 : -1;
}

// --- Setting, in short ---

static bool flag(const char *first, const char *second) {
  char *argv[] = {(char *)first, (char *)second, NULL};
  const char *others[] = {"prod", NULL};
  int at = 0;
  return config_set_flag(&config, argv, &at, others, &error);
}

static bool variable(const char *text) {
  const char *environment[] = {"HOME=/root", text, NULL};
  return config_set_environment(&config, environment, &error);
}

static bool game_number(const char *key, double number) {
  ScriptValue given = {.type = SCRIPT_NUMBER, .number = number};
  return config_set_game(&config, key, &given, &error);
}

static bool game_text(const char *key, const char *text) {
  ScriptValue given = {.type = SCRIPT_TEXT, .text = text};
  return config_set_game(&config, key, &given, &error);
}

static bool game_switch(const char *key, int value) {
  ScriptValue given = {.type = SCRIPT_SWITCH, .number = value};
  return config_set_game(&config, key, &given, &error);
}

// --- Tests ---

static void test_defaults_are_those_of_the_reference(void **state) {
  (void)state;
  assert_string_equal(config_text(&config, KEY_HOST), "0.0.0.0");
  assert_int_equal(config_number(&config, KEY_PORT), 7777);
  assert_int_equal(config_number(&config, KEY_TEXT_PORT), CONFIG_OFF);
  assert_int_equal(config_number(&config, KEY_MEMORY_LIMIT), 256 << 20);
  assert_string_equal(config_text(&config, KEY_OVERFLOW), "drop_newest");
  assert_true(config_is_on(&config, KEY_WATCH));
  assert_int_equal(config_ms(&config, KEY_HANDLER_BUDGET), 50);
  NetLimits net = config_net_limits(&config);
  assert_int_equal(net.max_payload, 65536);
  assert_int_equal(net.channel_capacity, 1024);
  assert_int_equal(net.overflow, DROP_NEWEST);
  assert_int_equal(net.batch_hz, 60);
  SessionLimits session = config_session_limits(&config);
  assert_int_equal(session.max_clients, 1024);
  assert_int_equal(session.idle_timeout_ms, 31000);
  assert_int_equal(session.ping_interval_ms, 13000);
  assert_int_equal(session.handshake_timeout_ms, 5000);
  assert_int_equal(session.tick_rate, 20);
  RelayLimits relay = config_relay_limits(&config);
  assert_int_equal(relay.max_rooms, 4096);
}

static void test_a_stronger_source_wins_in_whatever_order(void **state) {
  (void)state;
  assert_true(flag("--max-clients", "4"));
  assert_true(variable("PERIGEE_MAX_CLIENTS=3"));
  assert_true(game_number("max_clients", 2));
  assert_int_equal(config_number(&config, KEY_MAX_CLIENTS), 4);
  assert_true(game_number("max_rooms", 2));
  assert_true(variable("PERIGEE_MAX_ROOMS=3"));
  assert_int_equal(config_number(&config, KEY_MAX_ROOMS), 3);
}

static void test_a_weaker_source_is_checked_all_the_same(void **state) {
  (void)state;
  assert_true(flag("--max-clients=4", NULL));
  assert_false(game_number("max_clients", 0));
}

static void test_what_the_game_set_can_be_forgotten(void **state) {
  (void)state;
  assert_true(game_text("host", "127.0.0.1"));
  assert_true(game_number("port", 1));
  assert_true(flag("--max-rooms", "9"));
  config_forget_game(&config);
  assert_string_equal(config_text(&config, KEY_HOST), "0.0.0.0");
  assert_int_equal(config_number(&config, KEY_PORT), 7777);
  assert_int_equal(config_number(&config, KEY_MAX_ROOMS), 9);
}

static void test_copies_are_equal_and_separate(void **state) {
  (void)state;
  Config copy;
  config_init(&copy);
  assert_true(game_text("host", "127.0.0.1"));
  assert_false(config_is_same(&config, &copy, KEY_HOST));
  config_copy(&copy, &config);
  for (int key = 0; key < KEY_COUNT; key++)
    assert_true(config_is_same(&config, &copy, (ConfigKey)key));
  assert_ptr_not_equal(config_text(&config, KEY_HOST), config_text(&copy, KEY_HOST));
  config_deinit(&copy);
}

static void test_unknown_names_are_told_with_the_nearest(void **state) {
  (void)state;
  assert_false(game_number("max_client", 3));
  assert_string_equal(error.text,
                      "there is no game.config.max_client; did you mean "
                      "game.config.max_clients?");
  assert_false(flag("--max-cleints", "3"));
  assert_string_equal(error.text,
                      "there is no --max-cleints; did you mean --max-clients?");
  assert_false(flag("--prot", NULL));
  assert_non_null(strstr(error.text, "did you mean --p"));
  assert_false(variable("PERIGEE_MAX_CLIENT=3"));
  assert_string_equal(error.text,
                      "there is no PERIGEE_MAX_CLIENT; did you mean "
                      "PERIGEE_MAX_CLIENTS?");
  assert_false(config_set_program(&config, "tickrate", "3", &error));
  assert_string_equal(error.text,
                      "there is no config.tickrate; did you mean config.tick_rate?");
  assert_false(game_number("xyzzy_plugh", 1));
  assert_string_equal(
      error.text,
      "there is no game.config.xyzzy_plugh; `perigee help run` lists the settings");
  assert_false(flag("--xyzzy-plugh", "1"));
  assert_string_equal(error.text, "there is no --xyzzy-plugh");
}

static void test_other_variables_are_passed_over(void **state) {
  (void)state;
  assert_true(variable("PERIGEE_LEAK_CHECK=1"));
  assert_true(variable("PERIGEE_TOKEN=secret"));
  assert_true(variable("PERIGEE_BIN=build/dev/perigee"));
  assert_true(variable("PERIGEE_SERVICE_HOST_7777=1"));
  assert_true(variable("PERIGEE_MAX_CLIENTS="));
  assert_int_equal(config_number(&config, KEY_MAX_CLIENTS), 1024);
}

static void test_wrong_values_are_told_in_one_sentence(void **state) {
  (void)state;
  assert_false(flag("--max-clients", "many"));
  assert_string_equal(
      error.text,
      "--max-clients must be a whole number from 1 to 1000000, not \"many\"");
  assert_false(flag("--max-clients", NULL));
  assert_string_equal(error.text, "--max-clients needs a value");
  assert_false(variable("PERIGEE_PORT=70000"));
  assert_string_equal(
      error.text, "PERIGEE_PORT must be a whole number from 0 to 65535, not \"70000\"");
  assert_false(game_number("port", 7.5));
  assert_string_equal(
      error.text, "game.config.port must be a whole number from 0 to 65535, not 7.5");
  assert_false(game_text("port", "7777"));
  assert_false(game_number("host", 7));
  assert_false(game_text("overflow", "drop"));
  assert_string_equal(error.text,
                      "game.config.overflow must be \"drop_newest\", "
                      "\"drop_oldest\" or \"disconnect\", not \"drop\"");
  ScriptValue table = {.type = SCRIPT_OTHER, .text = "a table"};
  assert_false(config_set_game(&config, "idle_timeout", &table, &error));
  assert_string_equal(error.text,
                      "game.config.idle_timeout must be a number of seconds from "
                      "0 to 604800, not a table");
  assert_false(flag("--max-payload", "5 MiB"));
  assert_string_equal(error.text,
                      "--max-payload must be a size from 128 to 4 MiB, such as "
                      "65536 or \"64 KiB\", not \"5 MiB\"");
}

static void test_settings_of_a_test_are_the_strongest(void **state) {
  (void)state;
  assert_true(config_set_program(&config, "tick_rate", "50", &error));
  assert_true(game_number("tick_rate", 30));
  assert_true(flag("--tick-rate", "40"));
  assert_int_equal(config_number(&config, KEY_TICK_RATE), 50);
  assert_false(config_set_program(&config, "tick_rate", "fast", &error));
  assert_string_equal(error.text,
                      "config.tick_rate must be a number from 0.01 to 1000, not "
                      "\"fast\"");
}

static void test_numbers_are_read_strictly(void **state) {
  (void)state;
  static const char *const WRONG[] = {"",    " 1", "1 ",  "0x10",  "nan", "inf",
                                      "1e3", "-1", "1.5", "1.2.3", "."};
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
    assert_false(flag("--max-clients", WRONG[i]));
  assert_false(game_number("max_clients", 0.0 / 0.0));
  assert_false(game_number("tick_rate", 0.0 / 0.0));
  assert_true(flag("--idle-timeout", "0.25"));
  assert_int_equal(config_ms(&config, KEY_IDLE_TIMEOUT), 250);
}

static void test_sizes_have_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double bytes;
  } SIZES[] = {{"268435456", 268435456}, {"64 MiB", 64 << 20},  {"64M", 64 << 20},
               {"65536k", 64 << 20},     {"0.5 GB", 512 << 20}, {"8388608 B", 8 << 20}};
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    assert_true(game_text("memory_limit", SIZES[i].text));
    assert_true(config_number(&config, KEY_MEMORY_LIMIT) == SIZES[i].bytes);
  }
  assert_true(game_number("memory_limit", 8 << 20));
  assert_false(game_text("memory_limit", "64 MiBs"));
  assert_false(game_text("memory_limit", "64  M"));
  assert_false(game_text("memory_limit", "lots"));
}

static void test_switches(void **state) {
  (void)state;
  assert_true(game_switch("watch", 0));
  assert_false(config_is_on(&config, KEY_WATCH));
  assert_true(variable("PERIGEE_WATCH=yes"));
  assert_true(config_is_on(&config, KEY_WATCH));
  assert_true(flag("--no-watch", NULL));
  assert_false(config_is_on(&config, KEY_WATCH));
  assert_true(flag("--watch", NULL));
  assert_true(config_is_on(&config, KEY_WATCH));
  assert_true(flag("--watch=off", NULL));
  assert_false(config_is_on(&config, KEY_WATCH));
  assert_false(flag("--watch=maybe", NULL));
  assert_string_equal(error.text, "--watch must be true or false, not \"maybe\"");
}

static void test_a_switch_does_not_take_the_next_argument(void **state) {
  (void)state;
  char *argv[] = {"--watch", "arena", NULL};
  int at = 0;
  assert_true(config_set_flag(&config, argv, &at, NULL, &error));
  assert_int_equal(at, 1);
}

static void test_ports_and_addresses_can_be_off(void **state) {
  (void)state;
  assert_true(game_number("text_port", 4000));
  assert_int_equal(config_number(&config, KEY_TEXT_PORT), 4000);
  assert_true(game_switch("text_port", 0));
  assert_int_equal(config_number(&config, KEY_TEXT_PORT), CONFIG_OFF);
  assert_false(game_switch("text_port", 1));
  assert_true(variable("PERIGEE_TEXT_PORT=0"));
  assert_int_equal(config_number(&config, KEY_TEXT_PORT), 0);
  assert_true(flag("--no-text-port", NULL));
  assert_int_equal(config_number(&config, KEY_TEXT_PORT), CONFIG_OFF);
  assert_false(flag("--no-port", NULL));
  assert_true(game_switch("admin", 0));
  assert_string_equal(config_text(&config, KEY_ADMIN), "");
  assert_true(flag("--admin", "[::1]:9000"));
  assert_false(flag("--admin", "9000"));
  assert_false(flag("--admin", ":9000"));
}

static void test_texts_have_no_control_characters(void **state) {
  (void)state;
  assert_false(game_text("host", "a\nb"));
  assert_false(game_text("tls_cert", "\xff"));
  ScriptValue origins = {.type = SCRIPT_TEXTS,
                         .text = "https://a.example,https://b.example"};
  assert_true(config_set_game(&config, "allowed_origins", &origins, &error));
  assert_string_equal(config_text(&config, KEY_ALLOWED_ORIGINS), origins.text);
  assert_false(config_set_game(&config, "host", &origins, &error));
}

static void test_slow_ticks_are_told_as_one_a_second(void **state) {
  (void)state;
  assert_true(game_number("tick_rate", 0.2));
  assert_int_equal(config_session_limits(&config).tick_rate, 1);
  assert_true(config_relay_limits(&config).tick_rate == 0.2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_defaults_are_those_of_the_reference),
      TEST(test_a_stronger_source_wins_in_whatever_order),
      TEST(test_a_weaker_source_is_checked_all_the_same),
      TEST(test_what_the_game_set_can_be_forgotten),
      TEST(test_copies_are_equal_and_separate),
      TEST(test_unknown_names_are_told_with_the_nearest),
      TEST(test_other_variables_are_passed_over),
      TEST(test_wrong_values_are_told_in_one_sentence),
      TEST(test_settings_of_a_test_are_the_strongest),
      TEST(test_numbers_are_read_strictly),
      TEST(test_sizes_have_units),
      TEST(test_switches),
      TEST(test_a_switch_does_not_take_the_next_argument),
      TEST(test_ports_and_addresses_can_be_off),
      TEST(test_texts_have_no_control_characters),
      TEST(test_slow_ticks_are_told_as_one_a_second),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
