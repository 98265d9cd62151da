// The load generator: connects clients to a relay server, runs one scenario, and prints
// the figures in one line. It reads the server's CPU time and memory from /proc.
#include <getopt.h>
#include <sys/epoll.h>

#include "scenarios.h"

static const char USAGE[] =
    "usage: bench-load --port PORT --pid SERVER [options] SCENARIO\n"
    "scenarios:\n"
    "  fanout  one room of --members, bursts of --burst\n"
    "  paced   one room of --members, --rate broadcasts a second\n"
    "  rooms   --rooms of --members with one broadcast in flight in each\n"
    "  echo    two clients, to and fro\n"
    "  churn   connect, join, leave and close, --members at a time\n"
    "  stall   --members at 1,000 broadcasts a second, and --stalled that never read\n"
    "  idle    --members connected clients\n"
    "options:\n"
    "  --seconds S  how long to measure (default 1)\n"
    "  --publishers N  members that broadcast (default 1, at most 4)\n"
    "  --rate N     broadcasts a second (default 400)\n"
    "  --payload N  bytes in a broadcast (default 64)\n"
    "  --tls        through TLS; the certificate is not looked at\n"
    "  --ws         over WebSockets\n"
    "  --spin       never sleep, for a machine with a core to spare\n";

typedef struct Scenario {
  const char *name;
  void (*run)(Load *load);
} Scenario;

static const Scenario SCENARIOS[] = {
    {"fanout", run_fanout}, {"paced", run_paced}, {"rooms", run_rooms},
    {"echo", run_echo},     {"churn", run_churn}, {"stall", run_stall},
    {"idle", run_idle},
};

static const struct option OPTIONS[] = {
    {"port", required_argument, NULL, 'p'},
    {"pid", required_argument, NULL, 'i'},
    {"seconds", required_argument, NULL, 's'},
    {"members", required_argument, NULL, 'm'},
    {"rooms", required_argument, NULL, 'r'},
    {"burst", required_argument, NULL, 'b'},
    {"publishers", required_argument, NULL, 'u'},
    {"rate", required_argument, NULL, 'a'},
    {"payload", required_argument, NULL, 'l'},
    {"stalled", required_argument, NULL, 't'},
    {"spin", no_argument, NULL, 'n'},
    {"ws", no_argument, NULL, 'w'},
    {"tls", no_argument, NULL, 'e'},
    {0},
};

static bool set(Load *load, int option) {
  uint32_t number = optarg ? (uint32_t)strtoul(optarg, NULL, 10) : 0;
  switch (option) {
    case 'p':
      load->port = (uint16_t)number;
      return true;
    case 'i':
      load->pid = (int)number;
      return true;
    case 's':
      load->seconds = strtod(optarg, NULL);
      return load->seconds > 0;
    case 'm':
      load->members = number;
      return number > 1;
    case 'r':
      load->rooms = number;
      return number > 0;
    case 'b':
      load->burst = number;
      return number > 0;
    case 'u':
      load->publishers = number;
      return number > 0 && number <= PUBLISHERS_MAX;
    case 'a':
      load->rate = number;
      return number > 0;
    case 'l':
      load->payload = number;
      return number >= 12 && number <= WIRE_PAYLOAD_MAX - 8;
    case 't':
      load->stalled = number;
      return true;
    case 'e':
      return load->tls = true;
    case 'w':
      return load->ws = true;
    case 'n':
      return load->spin = true;
    default:
      return false;
  }
}

static const Scenario *scenario_find(const char *name) {
  for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++)
    if (!strcmp(SCENARIOS[i].name, name)) return &SCENARIOS[i];
  return NULL;
}

int main(int argc, char **argv) {
  Load load = {.seconds = 1,
               .members = 50,
               .rooms = 1,
               .burst = 64,
               .payload = 64,
               .publishers = 1,
               .rate = 400};
  const Scenario *scenario = NULL;
  bool good = true;
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
    good = good && set(&load, option);
  if (optind == argc - 1) scenario = scenario_find(argv[optind]);
  if (!good || !scenario || !load.port || !load.pid) {
    fputs(USAGE, stderr);
    return 2;
  }
  raise_open_files();
  load.epoll = epoll_create1(0);
  scenario->run(&load);
  return 0;
}
