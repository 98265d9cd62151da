// Asks a running server for a profile, or profiles a run of specs in this process.
// Prints the worst handlers and lines, and writes the file for speedscope.
#include "app/profile.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/remote.h"
#include "app/usage.h"
#include "script/tool.h"
#include "wire/json.h"

enum { SECONDS = 10, SECONDS_MAX = 600, WORST = 10 };

typedef struct Options {
  uint16_t port;
  int seconds;  // 0: not given
  bool is_memory;
  const char *output;
  char **test;  // arguments of `perigee test`; NULL: a running server
} Options;

static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int number) { was_interrupted = number; }

// --- Printing ---

static double number_of(Text object, const char *key) {
  Text value = json_find(object, key);
  return value.size > 0 ? strtod(value.bytes, NULL) : 0;
}

static void print_text(Text object, const char *key) {
  Buf text = {0};
  json_read_text(json_find(object, key), &text);
  printf("%.*s", (int)text.size, (const char *)text.data);
  buf_deinit(&text);
}

// Prints what share of an amount is not Lua.
static void print_parts(Text object) {
  static const char *const PARTS[] = {"c", "collector", "compiler"};
  double total = number_of(object, "total");
  for (int i = 0; i < 3; i++) {
    double share = total > 0 ? number_of(object, PARTS[i]) / total * 100 : 0;
    if (share >= 1) printf("  %s %.0f %%", PARTS[i][1] ? PARTS[i] : "C", share);
  }
  putchar('\n');
}

static void print_list(Text profile, const char *key, const char *title) {
  Text object, list = json_find(profile, key);
  bool is_memory = json_find(profile, "unit").bytes[1] == 'b', is_line = *key == 'l';
  double total = number_of(profile, "total");
  double unit = is_memory ? 1.0 / 1024 : number_of(profile, "every_us") / 1000;
  int count = 0;
  printf("\n   SHARE %10s  %s\n", is_memory ? "KIB" : "MS", title);
  for (uint32_t at = 0; count < WORST && json_next(list, &at, NULL, &object); count++) {
    double amount = number_of(object, "total");
    printf("%6.1f %% %10.0f  ", amount / total * 100, amount * unit);
    if (is_line) {
      print_text(object, "file");
      printf(":%.0f  ", number_of(object, "line"));
    }
    print_text(object, "name");
    print_parts(object);
  }
}

static int write_file(Text profile, const char *path) {
  Text file = json_find(profile, "file");
  FILE *out = fopen(path, "w");
  bool is_good = out != NULL && fwrite(file.bytes, 1, file.size, out) == file.size;
  if (out != NULL && fclose(out) != 0) is_good = false;
  if (is_good) {
    printf("\nperigee: wrote %s; https://www.speedscope.app shows it\n", path);
    return EXIT_GOOD;
  }
  fprintf(stderr, "perigee: cannot write %s: %s\n", path, strerror(errno));
  return EXIT_FAILED;
}

static int report(Buf *json, const Options *options) {
  buf_u8(json, '\0');
  Text profile = json_trim((Text){(const char *)json->data, (uint32_t)json->size - 1});
  if (!json_is_value(profile)) {
    fputs("perigee: the server is of another version\n", stderr);
    return EXIT_FAILED;
  }
  double seconds = number_of(profile, "seconds"), total = number_of(profile, "total");
  if (total == 0) {
    printf("perigee: no handler ran in %.1f s\n", seconds);
    return EXIT_GOOD;
  }
  if (options->is_memory)
    printf("perigee: in %.1f s, handlers allocated %.0f KiB\n", seconds, total / 1024);
  else
    printf("perigee: in %.1f s, handlers took %.2f s:", seconds,
           total * number_of(profile, "every_us") / 1e6);
  if (!options->is_memory) print_parts(profile);
  print_list(profile, "handlers", "HANDLER");
  print_list(profile, "lines", "LINE");
  return write_file(profile, options->output);
}

// --- Profiling ---

// Ctrl-C ends the wait for the profile.
static int profile_server(const Options *options) {
  struct sigaction action = {.sa_handler = on_interrupt};
  char request[80];
  uint16_t port = options->port;
  Buf reply = {0};
  int seconds = options->seconds > 0 ? options->seconds : SECONDS;
  snprintf(request, sizeof request, "POST /api/profile?seconds=%d%s\n", seconds,
           options->is_memory ? "&memory=true" : "");
  int code = remote_ask(&port, request, &reply);
  if (code == EXIT_GOOD) {
    struct timespec left = {.tv_sec = seconds};
    sigaction(SIGINT, &action, NULL);
    while (!was_interrupted && nanosleep(&left, &left) != 0 && errno == EINTR) continue;
    reply.size = 0;
    code = remote_ask(&port, "DELETE /api/profile\n", &reply);
  }
  if (code == EXIT_GOOD) code = report(&reply, options);
  buf_deinit(&reply);
  return code;
}

static int profile_test(const Options *options, int (*run_test)(char **arguments)) {
  Buf json = {0};
  script_tool_profile_begin(options->is_memory);
  int code = run_test(options->test);
  script_tool_profile_end(&json);
  int problem = report(&json, options);
  buf_deinit(&json);
  return code != EXIT_GOOD ? code : problem;
}

static int read_options(char **arguments, Options *options) {
  *options = (Options){.output = "perigee-profile.json"};
  for (int at = 0, number; arguments[at] != NULL && options->test == NULL;) {
    char *argument = arguments[at], *end;
    if (usage_read_number("--port", arguments, &at, 1, UINT16_MAX, &number)) {
      if (number < 0)
        return usage_fail("profile", "--port must be a whole number from 1 to 65535");
      options->port = (uint16_t)number;
      continue;
    }
    at++;
    long seconds = strtol(argument, &end, 10);
    if (strcmp(argument, "--memory") == 0) {
      options->is_memory = true;
    } else if (strcmp(argument, "--output") == 0) {
      options->output = arguments[at];
      if (options->output == NULL)
        return usage_fail("profile", "--output needs a file");
      at++;
    } else if (strcmp(argument, "test") == 0) {
      options->test = arguments + at;
    } else if (*argument < '0' || *argument > '9' || options->seconds > 0) {
      return usage_fail("profile", "unexpected argument \"%s\"", argument);
    } else if (*end != '\0' || seconds < 1 || seconds > SECONDS_MAX) {
      return usage_fail("profile", "SECONDS must be a whole number from 1 to %d",
                        SECONDS_MAX);
    } else {
      options->seconds = (int)seconds;
    }
  }
  return EXIT_GOOD;
}

int profile_command(char **arguments, int (*run_test)(char **arguments)) {
  Options options;
  int code = read_options(arguments, &options);
  if (code != EXIT_GOOD) return code;
  return options.test != NULL ? profile_test(&options, run_test)
                              : profile_server(&options);
}
