// Rules for values of configuration keys: a row of the table in settings.h, and the
// check of a value against that row. Only config.c uses them.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"

typedef struct Rule {
  const char *name;
  ConfigType type;
  ConfigChange change;
  const char *fallback;  // default value, spelt as in a flag
  double least, most;
  const char *help;
  const char *words;  // words of a CONFIG_CHOICE, such as "text|json"
} Rule;

/// Converts the text of a flag or variable to the value that Lua would give. Returns
/// SCRIPT_OTHER for a text of another type.
ScriptValue rule_read(const Rule *rule, const char *text);

/// Checks `given` and sets number and text of `out`. The text is not copied.
bool rule_check(const Rule *rule, const ScriptValue *given, ConfigValue *out);

/// Writes the rule for a value in words that can follow "must be".
void rule_print_expected(char *out, size_t size, const Rule *rule);

/// Writes the given value in words that can follow "not".
void rule_print_given(char *out, size_t size, const ScriptValue *given);

/// Writes the words of a CONFIG_CHOICE in the form `"a", "b" or "c"`.
void rule_print_words(char *out, size_t size, const char *words);
