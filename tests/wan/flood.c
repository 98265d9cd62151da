// A flood of bogus UDP requests from very many addresses, for
// tests/e2e/udp_flood_spec.lua. All addresses of 127.0.0.0/8 belong to this machine, so
// each request has its own source address, and the answers come back here.
//
//   wan_flood PORT [--requests N] [--sources N] [--rate PER_SECOND]
//
// Without a rate it sends as fast as the server answers. Prints the numbers of sent and
// received datagrams, and fails if any address got more bytes than it had sent.
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/program.h"

enum {
  BATCH = 64,
  DATAGRAM_MAX = 300,
  FIRST_SOURCE = 127 << 24 | 64 << 16,  // 127.64.0.0
  SOURCES_MAX = 1 << 22,                // 127.64.0.0/10
  KINDS = 7,
  UNANSWERED_MAX = 2 * BATCH,  // requests that may wait for answers, without a rate
  LOST_NS = 250 * 1000 *
            1000,  // time without an answer after which waiting requests count as lost
  PATIENCE_NS = 300 * 1000 * 1000,  // time to wait for the last answers
};

typedef struct Flood {
  int fd;
  struct sockaddr_in server;
  uint32_t requests, sources, rate;
  int32_t *balance;  // sent bytes minus received bytes, by source
  uint64_t seed;
  uint64_t sent, came, sent_bytes, came_bytes;
  int32_t unanswered;
  uint64_t heard_ns;
  bool is_amplified;
} Flood;

typedef struct Message {
  uint8_t bytes[DATAGRAM_MAX];
  struct iovec iovec;
  struct sockaddr_in address;
  _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))];
} Message;

static uint64_t any(Flood *flood) {  // splitmix64
  uint64_t z = flood->seed += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

// Writes a request with an extension of `size` bytes. All bytes behind its head are
// random.
static size_t write_request(Flood *flood, uint8_t *out, uint8_t size, uint8_t flags) {
  static const uint8_t head[] = {0,   0,   0,   0, 'P', 'E', 'R', 'I',
                                 'G', 'E', 'E', 0, 1,   0,   0,   0};
  memset(out, 0, 27);
  memcpy(out, head, sizeof head);
  out[26] = size;
  for (int i = 0; i < size; i++) out[27 + i] = (uint8_t)any(flood);
  if (size > 0) out[27] = 1;
  if (size > 1) out[28] = flags;
  return 27u + size;
}

// Writes a datagram for which the server must keep no memory.
static size_t write_bogus(Flood *flood, uint32_t kind, uint8_t *out) {
  switch (kind % KINDS) {
    case 0: {  // the first request of a client that never answers
      size_t size = write_request(flood, out, 66, 0);
      memset(out + 29, 0, 32);
      return size;
    }
    case 1:
      return write_request(flood, out, 66, 0);  // an invalid cookie
    case 2:
      return write_request(flood, out, 102, 1);  // to attach
    case 3:
      return write_request(flood, out, 0, 0);
    case 4: {  // another protocol hash
      size_t size = write_request(flood, out, 37, 0);
      out[16] = 1;
      return size;
    }
    case 5:
      return write_request(flood, out, 255, 3);
    default:  // a datagram of a connection that does not exist
      for (int i = 0; i < 40; i++) out[i] = (uint8_t)any(flood);
      return 40;
  }
}

static void aim(Message *message, struct msghdr *head, uint32_t source) {
  struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(FIRST_SOURCE + source)};
  *head = (struct msghdr){.msg_name = &message->address,
                          .msg_namelen = sizeof message->address,
                          .msg_iov = &message->iovec,
                          .msg_iovlen = 1,
                          .msg_control = message->control,
                          .msg_controllen = sizeof message->control};
  struct cmsghdr *control = CMSG_FIRSTHDR(head);
  control->cmsg_level = IPPROTO_IP;
  control->cmsg_type = IP_PKTINFO;
  control->cmsg_len = CMSG_LEN(sizeof info);
  memcpy(CMSG_DATA(control), &info, sizeof info);
}

static void send_batch(Flood *flood, uint32_t first, uint32_t count) {
  static Message messages[BATCH];
  struct mmsghdr heads[BATCH] = {0};
  for (uint32_t i = 0; i < count; i++) {
    Message *message = &messages[i];
    uint32_t number = first + i, source = number % flood->sources;
    size_t size = write_bogus(flood, number / flood->sources + number, message->bytes);
    message->address = flood->server;
    message->iovec = (struct iovec){message->bytes, size};
    aim(message, &heads[i].msg_hdr, source);
    flood->balance[source] += (int32_t)size;
    flood->sent_bytes += size;
    flood->unanswered += memcmp(message->bytes, "\0\0\0", 3) == 0;
  }
  for (uint32_t done = 0; done < count;) {
    int sent = sendmmsg(flood->fd, heads + done, count - done, 0);
    if (sent <= 0) fail("sendmmsg: %s", strerror(errno));
    done += (uint32_t)sent;
  }
  flood->sent += count;
}

static uint32_t source_of(struct msghdr *head) {
  struct in_pktinfo info;
  struct cmsghdr *control = CMSG_FIRSTHDR(head);
  if (!control || control->cmsg_type != IP_PKTINFO) abort();
  memcpy(&info, CMSG_DATA(control), sizeof info);
  return ntohl(info.ipi_addr.s_addr) - FIRST_SOURCE;
}

static void read_answers(Flood *flood) {
  static Message messages[BATCH];
  struct mmsghdr heads[BATCH] = {0};
  int count;
  do {
    for (int i = 0; i < BATCH; i++) {
      messages[i].iovec = (struct iovec){messages[i].bytes, DATAGRAM_MAX};
      heads[i].msg_hdr = (struct msghdr){.msg_iov = &messages[i].iovec,
                                         .msg_iovlen = 1,
                                         .msg_control = messages[i].control,
                                         .msg_controllen = sizeof messages[i].control};
    }
    count = recvmmsg(flood->fd, heads, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < count; i++) {
      uint32_t source = source_of(&heads[i].msg_hdr);
      if (source >= flood->sources) continue;
      flood->balance[source] -= (int32_t)heads[i].msg_len;
      flood->is_amplified |= flood->balance[source] < 0;
      flood->came++;
      flood->unanswered--;
      flood->heard_ns = clock_ns();
      flood->came_bytes += heads[i].msg_len;
    }
  } while (count == BATCH);
}

// Returns whether the next requests may be sent.
static bool is_due(Flood *flood, uint64_t start_ns, uint32_t done) {
  const uint64_t now_ns = clock_ns();
  if (flood->rate) return done <= (now_ns - start_ns) * flood->rate / 1000000000u;
  if (now_ns > flood->heard_ns + LOST_NS) {
    flood->unanswered = 0;
    flood->heard_ns = now_ns;
  }
  return flood->unanswered < UNANSWERED_MAX;
}

static void run(Flood *flood) {
  const uint64_t start_ns = flood->heard_ns = clock_ns();
  for (uint32_t done = 0; done < flood->requests;) {
    uint32_t left = flood->requests - done;
    uint32_t count = left < BATCH ? left : BATCH;
    if (is_due(flood, start_ns, done)) {
      send_batch(flood, done, count);
      done += count;
    } else {
      nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    read_answers(flood);
  }
  const uint64_t end_ns = clock_ns();
  while (clock_ns() < end_ns + PATIENCE_NS) {
    read_answers(flood);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  printf(
      "requests=%llu sources=%u seconds=%.2f sent_bytes=%llu answers=%llu "
      "answer_bytes=%llu\n",
      (unsigned long long)flood->sent, flood->sources,
      (double)(end_ns - start_ns) / 1e9, (unsigned long long)flood->sent_bytes,
      (unsigned long long)flood->came, (unsigned long long)flood->came_bytes);
}

static void open_socket(Flood *flood) {
  int on = 1, bytes = 4 << 20;
  struct sockaddr_in all = {.sin_family = AF_INET};
  flood->fd = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(flood->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  setsockopt(flood->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  if (bind(flood->fd, (struct sockaddr *)&all, sizeof all) != 0)
    fail("bind: %s", strerror(errno));
}

int main(int argc, char **argv) {
  static const struct option OPTIONS[] = {{"requests", required_argument, NULL, 'n'},
                                          {"sources", required_argument, NULL, 's'},
                                          {"rate", required_argument, NULL, 'r'},
                                          {0}};
  Flood flood = {.requests = 100000, .sources = 100000, .seed = 1};
  for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
    if (option == 'n') flood.requests = (uint32_t)atoi(optarg);
    if (option == 's') flood.sources = (uint32_t)atoi(optarg);
    if (option == 'r') flood.rate = (uint32_t)atoi(optarg);
  }
  const int port = optind < argc ? atoi(argv[optind]) : 0;
  if (port <= 0 || flood.sources == 0 || flood.sources > SOURCES_MAX) {
    fprintf(stderr, "usage: wan_flood PORT [--requests N] [--sources N] [--rate N]\n");
    return 2;
  }
  flood.server = (struct sockaddr_in){.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  flood.balance = calloc(flood.sources, sizeof *flood.balance);
  if (!flood.balance) return 1;
  open_socket(&flood);
  run(&flood);
  free(flood.balance);
  if (flood.is_amplified)
    fprintf(stderr, "wan_flood: an address got more than it sent\n");
  return flood.is_amplified ? 1 : 0;
}
