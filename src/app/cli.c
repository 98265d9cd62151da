// One table of commands. Each row has the command's help, and a function that gets the
// arguments after the command's name.
#include "app/cli.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "app/operate.h"
#include "app/profile.h"
#include "app/remote.h"
#include "app/run.h"
#include "app/store_command.h"
#include "app/usage.h"
#include "base/mem.h"
#include "base/text.h"
#include "module.h"
#include "net/tls.h"
#include "script/tool.h"
#include "server/control_path.h"
#include "server/descriptors.h"
#include "server/library/library.h"
#include "server/sim_server.h"

extern char **environ;

typedef struct CliCommand CliCommand;
typedef int Run(const CliCommand *command, char **arguments);

struct CliCommand {
  const char *name;
  const char *usage;
  const char *summary;
  const char *details;  // additional text of the command's help
  Run *run;
};

static Run command_run, command_reload, command_show, command_dashboard, command_kick,
    command_stop, command_store, command_profile, command_test, command_tool,
    command_help;

static const CliCommand COMMANDS[] = {
    {"new", "new NAME [--with accounts]", "make a small game to begin with",
     "Makes the folder NAME (a path, such as games/duel) with a game that works, a\n"
     "test of it, and what editors need to complete and check the API.\n\n"
     "  --with accounts                     a game in a page, whose players sign in: "
     "as a\n"
     "                                      guest, and by name and password; with a\n"
     "                                      leaderboard\n"
     "  --annotations [GAME]                bring the latter up to date in a game "
     "that\n"
     "                                      is there (default: this folder)\n",
     command_tool},
    {"run", "run [GAME] [flags]",
     "serve a game; it is reloaded when a file of it is saved",
     "GAME is a folder with a game.lua, or a .lua file. Without one the server is\n"
     "a plain relay with one room, `lobby`.\n\n"
     "  --prod                              serve as for real: --no-watch\n"
     "  --no-jit                            interpret scripts, and compile nothing\n"
     "  --lua-path DIR                      take Perigee's Lua from DIR/perigee\n"
     "  --tls-dev                           serve TLS with a certificate made for this "
     "run\n\n"
     "Settings, also for game.config (max_clients = 9) and for the environment\n"
     "(PERIGEE_MAX_CLIENTS=9); --no-watch and --no-text-port switch off:\n\n",
     command_run},
    {"reload", "reload [--port N] [--force]", "make a running server reload its game",
     "Prints the result. Without --port: the only server of yours that runs.\n\n"
     "  --force                             reload in spite of errors that `perigee "
     "check`\n"
     "                                      finds\n",
     command_reload},
    {"status", "status [--port N]", "show the figures of a running server",
     "Of the only server of yours that runs, or the one on port N.\n", command_show},
    {"rooms", "rooms [--port N]", "list the rooms of a running server",
     "Of the only server of yours that runs, or the one on port N.\n", command_show},
    {"peers", "peers [--port N]", "list who is connected to a running server",
     "Of the only server of yours that runs, or the one on port N.\n", command_show},
    {"queues", "queues [--port N]", "list the matchmaking queues of a running server",
     "Of the only server of yours that runs, or the one on port N.\n", command_show},
    {"dashboard", "dashboard [--port N]",
     "print an address that opens the dashboard of a running server",
     "Of the only server of yours that runs, or the one on port N. The address signs "
     "one\n"
     "browser in, once.\n",
     command_dashboard},
    {"kick", "kick PEER [REASON] [--port N]", "disconnect a peer of a running server",
     "PEER is the number or the name that `perigee peers` shows. The peer gets REASON, "
     "a\n"
     "text of at most 127 bytes.\n",
     command_kick},
    {"stop", "stop [REASON] [--port N] [--timeout N]",
     "stop a running server, as SIGTERM does",
     "Waits until the server has ended. REASON, a text of at most 127 bytes, is for "
     "the\n"
     "log.\n\n"
     "  --timeout N                         wait at most N seconds (default: 10); 0: "
     "not "
     "at\n"
     "                                      all\n",
     command_stop},
    {"store", "store export|import|backup|check [FILE] [GAME] [--store PLACE]",
     "copy or check what a game keeps",
     "GAME is a folder or its game.lua (default: this folder). --store, or\n"
     "PERIGEE_STORE, is needed where the setting `store` is another than "
     "data/game.db.\n\n"
     "  export FILE                         write all documents and leaderboards as "
     "JSON,\n"
     "                                      one a line; a server may run\n"
     "  import FILE                         write the lines of an export into the "
     "store;\n"
     "                                      documents with other ids stay; no server "
     "may "
     "run\n"
     "  backup FILE                         copy the store's file while a server runs\n"
     "  check                               look for damage; ends with 1 when there is "
     "some\n",
     command_store},
    {"profile", "profile [SECONDS] [--memory] [--port N] [--output FILE]",
     "find the lines of a running game that take the most time",
     "Looks at the running server for SECONDS (default: 10). Prints the handlers and "
     "the\nten lines that take the most time, and writes a file for speedscope.\n\n"
     "  --memory                            which lines allocate the most bytes\n"
     "  --output FILE                       default: perigee-profile.json\n\n"
     "`perigee profile [--memory] [--output FILE] test ...` runs `perigee test ...` "
     "and\n"
     "looks at its servers.\n",
     command_profile},
    {"test", "test [GAME] [--seed N | --fuzz N] [FILES]",
     "run the specs of a game: no sockets, no waiting", "", command_test},
    {"check", "check [GAME] [--stdin FILE]",
     "report mistakes in a game without serving it",
     "Loads GAME (default: this folder) as `perigee run` would, and looks at those of "
     "its\n"
     "lines that a load does not run. Each finding is a line, file:line: error: ... "
     "or\n"
     "file:line: warning: .... Ends with 1 when there is an error. No game is started "
     "and\n"
     "no port is opened: it is quick enough for an editor to run at each save.\n\n"
     "  --stdin FILE                        take the text of FILE, a path within the\n"
     "                                      game's folder, from standard input\n",
     command_tool},
    {"schema", "schema [GAME] [--ts|--js|--c[=PREFIX]|--hash]",
     "list the messages of a game's schema.perigee",
     "Prints each message with its number, as docs/schema.md has it, and the protocol\n"
     "hash. GAME is the game (default: this folder) or the file itself.\n\n"
     "  --ts                                TypeScript types instead\n"
     "  --js                                the module that is served as /schema.js\n"
     "  --c[=PREFIX]                        a header in C and C++; names begin with "
     "PREFIX\n"
     "                                      (default: game)\n"
     "  --hash                              the protocol hash alone\n",
     command_tool},
    {"lockstep", "lockstep FILE [GAME]",
     "say what is in a recorded match, and check its hashes",
     "FILE is a recording, as `record` in a kind's lockstep has the server make. The\n"
     "match is played with GAME, and ends with 1 at the first turn whose hash is\n"
     "another one. GAME is a folder, or its game.lua, and its on_turn simulates; or a\n"
     "Lua file that returns what room:lockstep takes, with start(match),\n"
     "step(turn, entries) and hash().\n",
     command_tool},
    {"connect", "connect ADDRESS [--room ROOM] [--name NAME] [--token TOKEN] [--udp]",
     "join a server and talk, for people and for pipes", "", command_tool},
    {"bots", "bots GAME [-n COUNT] [--script FILE] [--udp]",
     "have scripted clients play, and measure it", "", command_tool},
    {"help", "help [COMMAND]", "say more about a command", "", command_help},
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

// --- Messages ---

static void print_help(FILE *out) {
  fputs("Perigee is a game relay server that is scripted in Lua.\n\n", out);
  for (int i = 0; i < COMMAND_COUNT; i++)
    fprintf(out, "  perigee %-45s %s\n", COMMANDS[i].usage, COMMANDS[i].summary);
  fprintf(out, "  perigee %-45s %s\n\n", "--version", "print the versions");
  fputs("To begin: perigee new mygame\n", out);
}

// Prints the help of a command. Tools print the help of their flags themselves.
static int print_command_help(const CliCommand *command) {
  if (*command->details == '\0' && command->run != command_help)
    return command->run(command, (char *[]){"--help", NULL});
  printf("perigee %s: %s\n\n%s", command->usage, command->summary, command->details);
  if (command->run == command_run) config_print_help(stdout);
  return EXIT_GOOD;
}

static const CliCommand *find_command(const char *name) {
  for (int i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(COMMANDS[i].name, name) == 0) return &COMMANDS[i];
  }
  return NULL;
}

static int fail_unknown(const char *name) {
  const char *names[COMMAND_COUNT + 1] = {0};
  for (int i = 0; i < COMMAND_COUNT; i++) names[i] = COMMANDS[i].name;
  const char *meant = text_nearest(name, names);
  if (meant == NULL) return usage_fail(NULL, "there is no command \"%s\"", name);
  return usage_fail(NULL, "there is no command \"%s\"; did you mean \"%s\"?", name,
                    meant);
}

// --- Commands ---

// Reads the argument at `*at` and advances `*at` past it.
static bool read_run_argument(perigee_server_config *run, char **arguments, int *at,
                              ConfigError *error) {
  static const char *const OWN_FLAGS[] = {"prod",    "no_jit", "lua_path",
                                          "tls_dev", "help",   NULL};
  char *argument = arguments[*at];
  if (strncmp(argument, "--", 2) != 0) {
    bool is_first = run->game == NULL && argument[0] != '-';
    if (is_first) run->game = mem_strdup(argument);
    if (!is_first)
      snprintf(error->text, sizeof error->text, "unexpected argument \"%.100s\"",
               argument);
    ++*at;
    return is_first;
  }
  if (strcmp(argument, "--prod") == 0) {
    char *no_watch[] = {"--no-watch", NULL};
    int none = 0;
    ++*at;
    return config_set_flag(&run->config, no_watch, &none, NULL, error);
  }
  bool is_no_jit = strcmp(argument, "--no-jit") == 0;
  if (is_no_jit || strcmp(argument, "--tls-dev") == 0) {
    *(is_no_jit ? &run->has_no_jit : &run->has_dev_tls) = true;
    ++*at;
    return true;
  }
  if (strcmp(argument, "--lua-path") == 0) {
    const char *folder = arguments[++*at];
    if (folder != NULL) {
      perigee_server_config_set(run, "lua_path", folder);
      ++*at;
    } else {
      snprintf(error->text, sizeof error->text, "--lua-path needs a folder");
    }
    return folder != NULL;
  }
  return config_set_flag(&run->config, arguments, at, OWN_FLAGS, error);
}

static bool read_run_arguments(perigee_server_config *run, char **arguments,
                               ConfigError *error) {
  if (!config_set_environment(&run->config, (const char *const *)environ, error))
    return false;
  for (int at = 0; arguments[at] != NULL;) {
    if (!read_run_argument(run, arguments, &at, error)) return false;
  }
  return true;
}

static int command_run(const CliCommand *command, char **arguments) {
  perigee_server_config *config = perigee_server_config_new();
  ConfigError error;
  config->is_program = true;
  int code = read_run_arguments(config, arguments, &error)
                 ? run_server(config)
                 : usage_fail(command->name, "%s", error.text);
  perigee_server_config_free(config);
  return code;
}

enum { STOP_TIMEOUT_S = 10, TIMEOUT_MAX_S = 3600 };

// Arguments of a command that sends a request to a running server.
typedef struct Remote {
  uint16_t port;  // port of the server; 0: the only running server
  bool is_forced;
  int timeout_s;
  char *words[2];
  int count;  // number of `words`
} Remote;

// Reads the flags, and up to `most` other words. Returns the exit code.
static int read_remote(const char *command, char **arguments, int most,
                       Remote *remote) {
  *remote = (Remote){.timeout_s = STOP_TIMEOUT_S};
  for (int at = 0; arguments[at] != NULL;) {
    char *argument = arguments[at];
    int number;
    if (usage_read_number("--port", arguments, &at, 1, UINT16_MAX, &number)) {
      if (number < 0)
        return usage_fail(command, "--port must be a whole number from 1 to 65535");
      remote->port = (uint16_t)number;
    } else if (strcmp(command, "stop") == 0 &&
               usage_read_number("--timeout", arguments, &at, 0, TIMEOUT_MAX_S,
                                 &number)) {
      if (number < 0)
        return usage_fail(command, "--timeout must be a whole number from 0 to %d",
                          TIMEOUT_MAX_S);
      remote->timeout_s = number;
    } else if (strcmp(argument, "--force") == 0 && strcmp(command, "reload") == 0) {
      remote->is_forced = true;
      at++;
    } else if (strncmp(argument, "--", 2) != 0 && remote->count < most) {
      remote->words[remote->count++] = argument;
      at++;
    } else {
      return usage_fail(command, "unexpected argument \"%s\"", argument);
    }
  }
  return EXIT_GOOD;
}

static int command_reload(const CliCommand *command, char **arguments) {
  Remote remote;
  int code = read_remote(command->name, arguments, 0, &remote);
  return code != EXIT_GOOD ? code : remote_reload(remote.port, remote.is_forced);
}

static int command_show(const CliCommand *command, char **arguments) {
  Remote remote;
  int code = read_remote(command->name, arguments, 0, &remote);
  return code != EXIT_GOOD ? code : operate_show(remote.port, command->name);
}

static int command_dashboard(const CliCommand *command, char **arguments) {
  Remote remote;
  int code = read_remote(command->name, arguments, 0, &remote);
  return code != EXIT_GOOD ? code : operate_dashboard(remote.port);
}

static int command_kick(const CliCommand *command, char **arguments) {
  Remote remote;
  int code = read_remote(command->name, arguments, 2, &remote);
  if (code != EXIT_GOOD) return code;
  const char *peer = remote.words[0];
  if (peer == NULL || *peer == '\0')
    return usage_fail(command->name,
                      "PEER must be a number or a name that `perigee peers` shows");
  return operate_kick(remote.port, peer, remote.words[1]);
}

static int command_stop(const CliCommand *command, char **arguments) {
  Remote remote;
  int code = read_remote(command->name, arguments, 1, &remote);
  if (code != EXIT_GOOD) return code;
  return operate_stop(remote.port, remote.words[0], remote.timeout_s);
}

static int command_store(const CliCommand *command, char **arguments) {
  (void)command;
  return store_command(arguments);
}

// Runs the module perigee.tools.NAME.
static int command_tool(const CliCommand *command, char **arguments) {
  char module[40];
  int count = 0;
  while (arguments[count] != NULL) count++;
  snprintf(module, sizeof module, "perigee.tools.%s", command->name);
  return script_tool_run(module, count, arguments, NULL, sim_server_ops(),
                         luaopen_perigee_client_core);
}

// Sets the time zone to UTC, so that a test has the same result on every machine.
static int command_test(const CliCommand *command, char **arguments) {
  setenv("TZ", "UTC0", 1);
  return command_tool(command, arguments);
}

static int run_test(char **arguments) {
  return command_test(find_command("test"), arguments);
}

static int command_profile(const CliCommand *command, char **arguments) {
  (void)command;
  return profile_command(arguments, run_test);
}

static int command_help(const CliCommand *command, char **arguments) {
  if (arguments[0] == NULL) {
    print_help(stdout);
    return EXIT_GOOD;
  }
  command = find_command(arguments[0]);
  if (command == NULL) return fail_unknown(arguments[0]);
  return print_command_help(command);
}

// --- Choosing a command ---

static bool asks_for_help(char **arguments) {
  for (; *arguments != NULL; arguments++) {
    if (strcmp(*arguments, "--help") == 0 || strcmp(*arguments, "-h") == 0) return true;
  }
  return false;
}

// Handles `perigee --child-of PID COMMAND ...`, by which this program starts itself as
// a child. PID is the parent. When the parent ends in any way, the child gets SIGTERM.
// The child itself requests this signal, because libuv runs no code of ours between
// fork and exec. Then it checks that the parent has not ended before the request.
static char **follow_parent(char **arguments) {
  if (arguments[0] == NULL || strcmp(arguments[0], "--child-of") != 0) return arguments;
  const char *pid = arguments[1];
  bool follows = pid != NULL && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
                 strtol(pid, NULL, 10) == getppid();
  return follows ? arguments + 2 : NULL;
}

static int dispatch(char **arguments) {
  arguments = follow_parent(arguments);
  if (arguments == NULL)
    return usage_fail(NULL, "--child-of needs the process that started this one");
  const char *name = arguments[0];
  if (name == NULL) {
    print_help(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    return command_help(NULL, arguments + 1);
  if (strcmp(name, "--version") == 0) {
    puts("perigee " PERIGEE_VERSION);
    puts("LuaJIT " PERIGEE_LUAJIT_VERSION);
    puts("libuv " PERIGEE_LIBUV_VERSION);
    puts(net_tls_library());
    return EXIT_GOOD;
  }
  const CliCommand *command = find_command(name);
  if (command == NULL) return fail_unknown(name);
  if (asks_for_help(arguments + 1)) return print_command_help(command);
  return command->run(command, arguments + 1);
}

// Reports memory that was not freed, for tests.
static int check_leaks(int code) {
  const char *wanted = getenv("PERIGEE_LEAK_CHECK");
  if (wanted == NULL || strcmp(wanted, "1") != 0 || mem_live() == 0) return code;
  fprintf(stderr, "perigee: %zu allocations leaked\n", mem_live());
  return EXIT_FAILED;
}

int cli_main(int argc, char **argv) {
  descriptors_fill();
  return check_leaks(dispatch(argc > 0 ? argv + 1 : argv));
}
