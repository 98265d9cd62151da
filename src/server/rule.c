// Reads and checks single values, without state and without knowledge of sources or
// keys.
#include "server/rule.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { TEXT_VALUE_MAX = 4096 };

static const ScriptValue UNREADABLE = {.type = SCRIPT_OTHER};

// Accepts only digits with at most one point, because strtod would also accept "nan",
// "0x10" and " 1".
static bool read_decimal(const char *text, double *number, const char **end) {
  size_t size = strspn(text, "0123456789.");
  char *stop;
  *number = strtod(text, &stop);
  *end = stop;
  return size > 0 && stop == text + size;
}

static bool read_size(const char *text, double *bytes) {
  static const struct {
    const char *unit;
    double factor;
  } UNITS[] = {{"", 1},          {"b", 1},        {"k", 1 << 10},  {"kb", 1 << 10},
               {"kib", 1 << 10}, {"m", 1 << 20},  {"mb", 1 << 20}, {"mib", 1 << 20},
               {"g", 1 << 30},   {"gb", 1 << 30}, {"gib", 1 << 30}};
  const char *unit;
  if (!read_decimal(text, bytes, &unit)) return false;
  unit += *unit == ' ';
  char lower[8];
  size_t size = strlen(unit);
  if (size >= sizeof lower) return false;
  for (size_t i = 0; i <= size; i++) lower[i] = (char)tolower((unsigned char)unit[i]);
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
    if (strcmp(lower, UNITS[i].unit) != 0) continue;
    *bytes *= UNITS[i].factor;
    return true;
  }
  return false;
}

// Returns 1 for on, 0 for off, or -1 for a text that is not a switch.
static int read_switch(const char *text) {
  static const char *const WORDS[] = {"false", "true", "off", "on",
                                      "no",    "yes",  "0",   "1"};
  for (int i = 0; i < 8; i++) {
    if (strcmp(text, WORDS[i]) == 0) return i & 1;
  }
  return -1;
}

ScriptValue rule_read(const Rule *rule, const char *text) {
  double number;
  const char *end;
  bool is_off = strcmp(text, "off") == 0 || strcmp(text, "false") == 0;
  switch (rule->type) {
    case CONFIG_PORT:
      if (is_off) return (ScriptValue){.type = SCRIPT_SWITCH};
      // fall through
    case CONFIG_WHOLE:
    case CONFIG_NUMBER:
    case CONFIG_SECONDS:
      if (!read_decimal(text, &number, &end) || *end != '\0') return UNREADABLE;
      return (ScriptValue){.type = SCRIPT_NUMBER, .number = number};
    case CONFIG_SWITCH:
      if (read_switch(text) < 0) return UNREADABLE;
      return (ScriptValue){.type = SCRIPT_SWITCH, .number = read_switch(text)};
    case CONFIG_ADDRESS:
    case CONFIG_PLACE:
      if (is_off) return (ScriptValue){.type = SCRIPT_SWITCH};
      break;
    default:
      break;
  }
  return (ScriptValue){.type = SCRIPT_TEXT, .text = text};
}

static bool is_in_range(const Rule *rule, double number) {
  return number >= rule->least && number <= rule->most;  // false for NaN
}

static bool is_whole(double number) {
  return number >= 0 && number < 9007199254740992.0 &&
         number == (double)(uint64_t)number;
}

static bool is_plain(const char *text) {
  size_t size = strlen(text);
  for (size_t i = 0; i < size; i++) {
    if (iscntrl((unsigned char)text[i])) return false;
  }
  return size <= TEXT_VALUE_MAX && text_is_utf8(text, size);
}

static bool is_address(const char *text) {
  const char *colon = strrchr(text, ':');
  double port;
  const char *end;
  return colon != NULL && colon != text && read_decimal(colon + 1, &port, &end) &&
         *end == '\0' && is_whole(port) && port <= 65535;
}

// Returns the index of `word` in a list such as "text|json", or -1.
static int find_word(const char *words, const char *word) {
  size_t size = strlen(word);
  for (int index = 0;; index++) {
    size_t length = strcspn(words, "|");
    if (length == size && memcmp(words, word, size) == 0) return index;
    if (words[length] == '\0') return -1;
    words += length + 1;
  }
}

bool rule_check(const Rule *rule, const ScriptValue *given, ConfigValue *out) {
  bool is_number = given->type == SCRIPT_NUMBER;
  bool is_text = given->type == SCRIPT_TEXT;
  bool is_switch = given->type == SCRIPT_SWITCH;
  bool is_no = is_switch && given->number == 0;
  out->number = given->number;
  out->text = is_text || given->type == SCRIPT_TEXTS ? (char *)given->text : NULL;
  switch (rule->type) {
    case CONFIG_TEXT:
      return is_text && is_plain(given->text);
    case CONFIG_TEXTS:
      return out->text != NULL && is_plain(given->text);
    case CONFIG_NUMBER:
    case CONFIG_SECONDS:
      return is_number && is_in_range(rule, given->number);
    case CONFIG_BYTES:
      out->text = NULL;
      if (is_text && !read_size(given->text, &out->number)) return false;
      return (is_text || is_number) && is_whole(out->number) &&
             is_in_range(rule, out->number);
    case CONFIG_SWITCH:
      return is_switch;
    case CONFIG_PORT:
      if (is_no) out->number = CONFIG_OFF;
      if (is_no) return true;
      // fall through
    case CONFIG_WHOLE:
      return is_number && is_whole(given->number) && is_in_range(rule, given->number);
    case CONFIG_PLACE:
      if (is_no) out->text = "";
      return is_no || (is_text && is_plain(given->text) && *given->text != '\0');
    case CONFIG_ADDRESS:
      if (is_no) out->text = "";
      return is_no || (is_text && is_plain(given->text) && is_address(given->text));
    case CONFIG_CHOICE:
      out->text = is_switch ? (given->number != 0 ? "true" : "false") : out->text;
      out->number = out->text ? find_word(rule->words, out->text) : -1;
      return out->number >= 0;
  }
  return false;
}

static void print_number(char *out, size_t size, const Rule *rule, double number) {
  const char *unit = "";
  if (rule->type == CONFIG_BYTES) {
    static const char *const UNITS[] = {"", " KiB", " MiB", " GiB"};
    int i = 0;
    for (;
         i < 3 && number >= 1024 && number / 1024 == (double)(uint64_t)(number / 1024);
         i++)
      number /= 1024;
    unit = UNITS[i];
  }
  snprintf(out, size, "%.15g%s", number, unit);
}

// Returns whether Lua needs quotes around the word. Only true and false need none.
static bool is_quoted(const char *word, int length) {
  return !(length == 4 && memcmp(word, "true", 4) == 0) &&
         !(length == 5 && memcmp(word, "false", 5) == 0);
}

void rule_print_words(char *out, size_t size, const char *words) {
  size_t at = 0;
  while (*words != '\0' && at < size) {
    int length = (int)strcspn(words, "|");
    bool is_last = words[length] == '\0' || strchr(words + length + 1, '|') == NULL;
    const char *link = words[length] == '\0' ? "" : is_last ? " or " : ", ";
    const char *quote = is_quoted(words, length) ? "\"" : "";
    at += (size_t)snprintf(out + at, size - at, "%s%.*s%s%s", quote, length, words,
                           quote, link);
    words += length + (words[length] != '\0');
  }
}

void rule_print_expected(char *out, size_t size, const Rule *rule) {
  char least[32], most[32];
  print_number(least, sizeof least, rule, rule->least);
  print_number(most, sizeof most, rule, rule->most);
  switch (rule->type) {
    case CONFIG_TEXT:
      snprintf(out, size, "a text without control characters");
      break;
    case CONFIG_TEXTS:
      snprintf(out, size, "a text or a list of texts");
      break;
    case CONFIG_WHOLE:
      snprintf(out, size, "a whole number from %s to %s", least, most);
      break;
    case CONFIG_NUMBER:
      snprintf(out, size, "a number from %s to %s", least, most);
      break;
    case CONFIG_SECONDS:
      snprintf(out, size, "a number of seconds from %s to %s", least, most);
      break;
    case CONFIG_BYTES:
      snprintf(out, size, "a size from %s to %s, such as 65536 or \"64 KiB\"", least,
               most);
      break;
    case CONFIG_SWITCH:
      snprintf(out, size, "true or false");
      break;
    case CONFIG_PORT:
      snprintf(out, size, "a port from %s to %s, or false", least, most);
      break;
    case CONFIG_ADDRESS:
      snprintf(out, size, "an address such as \"127.0.0.1:7778\", or false");
      break;
    case CONFIG_PLACE:
      snprintf(out, size, "a path, or false");
      break;
    case CONFIG_CHOICE:
      rule_print_words(out, size, rule->words);
      break;
  }
}

void rule_print_given(char *out, size_t size, const ScriptValue *given) {
  if (given->type == SCRIPT_NUMBER) {
    snprintf(out, size, "%.15g", given->number);
  } else if (given->type == SCRIPT_SWITCH) {
    snprintf(out, size, "%s", given->number != 0 ? "true" : "false");
  } else {
    const char *quote = given->type == SCRIPT_OTHER ? "" : "\"";
    snprintf(out, size, "%s%.60s%s", quote, given->text, quote);
  }
}
