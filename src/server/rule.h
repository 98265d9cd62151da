// What the value of one configuration key has to be: its row of the table in config.h,
// and the check of a value against it. Used by config.c alone.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"

typedef struct Rule {
  const char *name;
  ConfigType type;
  ConfigChange change;
  const char *fallback;  // the default, as a flag would have it
  double least, most;
  const char *help;
  const char *words;  // of a CONFIG_CHOICE: "text|json"
} Rule;

/// What Lua would have given for the text of a flag or of a variable; GIVEN_OTHER for
/// one that is nothing of the kind.
ConfigGiven rule_read(const Rule *rule, const char *text);

/// Checks `given` and fills number and text of `out`; the text is not a copy.
bool rule_check(const Rule *rule, const ConfigGiven *given, ConfigValue *out);

/// What a value must be, to follow "must be".
void rule_print_expected(char *out, size_t size, const Rule *rule);

/// What was given instead, to follow "not".
void rule_print_given(char *out, size_t size, const ConfigGiven *given);

/// The words of a CONFIG_CHOICE: `"a", "b" or "c"`.
void rule_print_words(char *out, size_t size, const char *words);
