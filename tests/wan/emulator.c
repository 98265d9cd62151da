// Emulates a wide area network between two hosts, for tests on one machine. Each host is
// a network namespace with a TUN device. Between the devices, the emulator simulates
// loss, duplication, delay, reordering and a limited rate. It replaces netem, which the
// kernels of test machines often lack.
//
//   wan_emulator [--loss %] [--duplicate %] [--reorder %] [--delay MS] [--jitter MS]
//                [--rate KBIT] [--queue BYTES] [--seed N]
//
// Prints the paths of the namespaces, for nsenter --net=..., and ends when its standard
// input ends. Both directions have the same rules for each packet:
// - the line sends `rate` kbit/s (0: no limit), and at most `queue` bytes wait for it;
// - then a packet is lost, or sent once or twice;
// - it arrives after `delay`, plus a deviation of at most `jitter`. The deviation
//   changes slowly, so packets keep their order. A share `reorder` of the packets gets a
//   random deviation.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/program.h"

enum {
  SIDES = 2,
  PACKET_MAX = 2048,
  WAITING_MAX = 8192,    // packets under way in one direction
  DRIFT_STEP_US = 1000,  // time between two changes of the drifting delay
  DRIFT_PART = 50,       // jitter divided by the largest such change
  READS_MAX = 64,        // packets taken from a device between two looks at the clock
};

static struct {
  double loss, duplicate, reorder;  // probabilities from 0 to 1
  uint64_t delay_us, jitter_us;
  uint64_t rate_bits;  // a second
  uint64_t queue_bytes;
  uint64_t seed;
} options = {.queue_bytes = 64 << 10, .seed = 1};

typedef struct Waiting {
  uint64_t due_us;
  uint64_t number;  // order of packets that are due at the same time
  uint16_t size;
  uint8_t bytes[PACKET_MAX];
} Waiting;

// The datagrams on their way from one side to the other.
typedef struct Line {
  Waiting *heap[WAITING_MAX];  // heap with the next due datagram first
  size_t count;
  uint64_t numbers;
  uint64_t free_us;  // time at which the line has sent all its bytes
  int64_t drift_us, drifted_us;
} Line;

static int tuns[SIDES], namespaces[SIDES];
static Line lines[SIDES];

static void give_up(const char *what) { fail("%s: %s", what, strerror(errno)); }

// --- Random numbers ---

// Returns 64 random bits, by splitmix64 of Sebastiano Vigna.
static uint64_t random_bits(void) {
  uint64_t z = options.seed += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static double random_part(void) { return (double)(random_bits() >> 11) / (1ull << 53); }

static bool happens(double part) { return random_part() < part; }

// Returns a random number from -span to span.
static int64_t random_span(uint64_t span) {
  return (int64_t)((random_part() * 2 - 1) * (double)span);
}

static uint64_t clock_us(void) { return clock_ns() / 1000; }

// --- The network ---

static bool is_before(const Waiting *a, const Waiting *b) {
  return a->due_us != b->due_us ? a->due_us < b->due_us : a->number < b->number;
}

static void push(Line *line, const uint8_t *bytes, size_t size, uint64_t due_us) {
  if (line->count == WAITING_MAX) return;
  Waiting *packet = malloc(sizeof *packet);
  if (!packet) give_up("memory");
  packet->due_us = due_us;
  packet->number = line->numbers++;
  packet->size = (uint16_t)size;
  memcpy(packet->bytes, bytes, size);
  size_t at = line->count++;
  for (; at > 0 && is_before(packet, line->heap[(at - 1) / 2]); at = (at - 1) / 2)
    line->heap[at] = line->heap[(at - 1) / 2];
  line->heap[at] = packet;
}

static Waiting *pop(Line *line) {
  Waiting *first = line->heap[0], *last = line->heap[--line->count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= line->count) break;
    if (child + 1 < line->count && is_before(line->heap[child + 1], line->heap[child]))
      child++;
    if (!is_before(line->heap[child], last)) break;
    line->heap[at] = line->heap[child];
    at = child;
  }
  line->heap[at] = last;
  return first;
}

static int64_t drift(Line *line, uint64_t now_us) {
  int64_t bound = (int64_t)options.jitter_us;
  while (line->drifted_us + DRIFT_STEP_US < (int64_t)now_us) {
    line->drift_us += random_span(options.jitter_us / DRIFT_PART + 1);
    if (line->drift_us > bound) line->drift_us = bound;
    if (line->drift_us < -bound) line->drift_us = -bound;
    line->drifted_us += DRIFT_STEP_US;
  }
  return line->drift_us;
}

static void send_on_way(Line *line, const uint8_t *bytes, size_t size, uint64_t from_us,
                        uint64_t now_us) {
  int64_t off_us =
      happens(options.reorder) ? random_span(options.jitter_us) : drift(line, now_us);
  push(line, bytes, size, from_us + (uint64_t)((int64_t)options.delay_us + off_us));
}

static void take(Line *line, const uint8_t *bytes, size_t size, uint64_t now_us) {
  if (line->free_us < now_us) line->free_us = now_us;
  if (options.rate_bits) {
    uint64_t waiting = (line->free_us - now_us) * options.rate_bits / 8000000;
    if (waiting + size > options.queue_bytes) return;
    line->free_us += size * 8000000 / options.rate_bits;
  }
  if (happens(options.loss)) return;
  send_on_way(line, bytes, size, line->free_us, now_us);
  if (happens(options.duplicate)) send_on_way(line, bytes, size, line->free_us, now_us);
}

// --- The hosts ---

static void set_address(int control, struct ifreq *request, unsigned long which,
                        uint32_t address) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
  memcpy(&request->ifr_addr, &in, sizeof in);
  if (ioctl(control, which, request) != 0) give_up("address");
}

static void set_up(int control, const char *name) {
  struct ifreq request = {0};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  if (ioctl(control, SIOCGIFFLAGS, &request) != 0) give_up(name);
  request.ifr_flags |= IFF_UP;
  if (ioctl(control, SIOCSIFFLAGS, &request) != 0) give_up(name);
}

// Moves this process into a new namespace, whose device "wan0" has the address
// 10.77.0.1 or .2.
static void make_host(int side) {
  if (unshare(CLONE_NEWNET) != 0) give_up("a network namespace (needs root)");
  namespaces[side] = open("/proc/self/ns/net", O_RDONLY);
  tuns[side] = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (namespaces[side] < 0 || tuns[side] < 0) give_up("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  snprintf(request.ifr_name, sizeof request.ifr_name, "wan0");
  if (ioctl(tuns[side], TUNSETIFF, &request) != 0) give_up("TUN device");
  int control = socket(AF_INET, SOCK_DGRAM, 0);
  if (control < 0) give_up("socket");
  set_address(control, &request, SIOCSIFADDR, 0x0a4d0001u + (uint32_t)side);
  set_address(control, &request, SIOCSIFNETMASK, 0xffffff00u);
  set_up(control, "wan0");
  set_up(control, "lo");
  close(control);
}

// --- Running ---

static void read_device(int side, uint64_t now_us) {
  uint8_t bytes[PACKET_MAX];
  for (int i = 0; i < READS_MAX; i++) {
    ssize_t size = read(tuns[side], bytes, sizeof bytes);
    if (size <= 0) return;
    take(&lines[side], bytes, (size_t)size, now_us);
  }
}

// Returns the time until the next datagram is due.
static uint64_t deliver(int side, uint64_t now_us) {
  Line *line = &lines[side];
  while (line->count > 0 && line->heap[0]->due_us <= now_us) {
    Waiting *packet = pop(line);
    ssize_t written = write(tuns[!side], packet->bytes, packet->size);
    if (written < 0 && errno != EAGAIN) give_up("write");
    free(packet);
  }
  return line->count > 0 ? line->heap[0]->due_us - now_us : UINT64_MAX;
}

static void run(void) {
  for (int i = 0; i < SIDES; i++) lines[i].drifted_us = (int64_t)clock_us();
  for (;;) {
    uint64_t now_us = clock_us(), wait_us = 100000;
    for (int i = 0; i < SIDES; i++) {
      uint64_t next_us = deliver(i, now_us);
      if (next_us < wait_us) wait_us = next_us;
    }
    struct pollfd fds[] = {{.fd = tuns[0], .events = POLLIN},
                           {.fd = tuns[1], .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN}};
    struct timespec wait = {.tv_nsec = (long)wait_us * 1000};
    if (ppoll(fds, 3, &wait, NULL) < 0 && errno != EINTR) give_up("poll");
    if (fds[2].revents) return;
    now_us = clock_us();
    for (int i = 0; i < SIDES; i++)
      if (fds[i].revents) read_device(i, now_us);
  }
}

static void read_options(int count, char **arguments) {
  static const struct option NAMES[] = {
      {"loss", 1, NULL, 'l'},  {"duplicate", 1, NULL, 'd'}, {"reorder", 1, NULL, 'o'},
      {"delay", 1, NULL, 'y'}, {"jitter", 1, NULL, 'j'},    {"rate", 1, NULL, 'r'},
      {"queue", 1, NULL, 'q'}, {"seed", 1, NULL, 's'},      {NULL, 0, NULL, 0},
  };
  int name;
  while ((name = getopt_long(count, arguments, "", NAMES, NULL)) != -1) {
    if (name == '?') exit(2);
    double value = atof(optarg);
    if (name == 'l') options.loss = value / 100;
    if (name == 'd') options.duplicate = value / 100;
    if (name == 'o') options.reorder = value / 100;
    if (name == 'y') options.delay_us = (uint64_t)(value * 1000);
    if (name == 'j') options.jitter_us = (uint64_t)(value * 1000);
    if (name == 'r') options.rate_bits = (uint64_t)(value * 1000);
    if (name == 'q') options.queue_bytes = (uint64_t)value;
    if (name == 's') options.seed = (uint64_t)value;
  }
  if (options.jitter_us > options.delay_us) {
    fprintf(stderr, "wan_emulator: --jitter is at most --delay\n");
    exit(2);
  }
}

int main(int count, char **arguments) {
  read_options(count, arguments);
  for (int i = 0; i < SIDES; i++) make_host(i);
  printf("server 10.77.0.1 /proc/%d/fd/%d\n", getpid(), namespaces[0]);
  printf("client 10.77.0.2 /proc/%d/fd/%d\n", getpid(), namespaces[1]);
  fflush(stdout);
  run();
  return 0;
}
