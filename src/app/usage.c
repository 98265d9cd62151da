// See usage.h.
#include "app/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int usage_fail(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("perigee: ", stderr);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, " (see `perigee help%s%s`)\n", command == NULL ? "" : " ",
          command == NULL ? "" : command);
  return EXIT_USAGE;
}

bool usage_read_number(const char *flag, char **arguments, int *at, int least, int most,
                       int *number) {
  const char *argument = arguments[*at];
  size_t size = strlen(flag);
  if (strncmp(argument, flag, size) != 0 ||
      (argument[size] != '\0' && argument[size] != '='))
    return false;
  const char *text = argument[size] == '=' ? argument + size + 1 : arguments[++*at];
  char *end = NULL;
  long value = text == NULL ? -1 : strtol(text, &end, 10);
  bool is_good = text != NULL && *text != '\0' && *end == '\0' && value >= least;
  *number = is_good && value <= most ? (int)value : -1;
  ++*at;
  return true;
}
