// Rules for values of configuration keys: a row of the table in settings.h, and the check of
// a value against it. For config.c alone.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/config.h"

typedef struct Rule {
  const char *name;
  ConfigType type;
  ConfigChange change;
  const char *fallback;  // the default, as a flag has it
  double least, most;
  const char *help;
  const char *words;  // of a CONFIG_CHOICE: "text|json"
} Rule;

/// Converts the text of a flag or variable to the value that Lua gives for it; returns
/// SCRIPT_OTHER for a text of another type.
ScriptValue rule_read(const Rule *rule, const char *text);

/// Checks `given` and fills number and text of `out`; the text is not a copy.
bool rule_check(const Rule *rule, const ScriptValue *given, ConfigValue *out);

/// Writes the rule for a value, to follow "must be".
void rule_print_expected(char *out, size_t size, const Rule *rule);

/// Writes the given value, to follow "not".
void rule_print_given(char *out, size_t size, const ScriptValue *given);

/// Writes the words of a CONFIG_CHOICE: `"a", "b" or "c"`.
void rule_print_words(char *out, size_t size, const char *words);
