// The floor of UDP: relays each datagram of a member to all others with sendmmsg, and
// does nothing else. A datagram of one byte registers a member; after other datagrams
// it begins a new room.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MEMBERS_MAX = 4096, READ_BATCH = 64, SEND_BATCH = 256, DATAGRAM_MAX = 1500 };

typedef struct Floor {
  int fd;
  struct sockaddr_in members[MEMBERS_MAX];
  unsigned count;
  int is_busy;  // whether anything was sent to the members
  struct mmsghdr in[READ_BATCH], out[SEND_BATCH];
  struct iovec in_bytes[READ_BATCH], out_bytes;
  struct sockaddr_in from[READ_BATCH];
  char bytes[READ_BATCH][DATAGRAM_MAX];
} Floor;

static int is_same(const struct sockaddr_in *a, const struct sockaddr_in *b) {
  return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

static void send_all(Floor *floor, const struct sockaddr_in *sender) {
  unsigned count = 0;
  for (unsigned i = 0; i < floor->count; i++) {
    if (is_same(&floor->members[i], sender)) continue;
    floor->out[count++].msg_hdr = (struct msghdr){.msg_name = &floor->members[i],
                                                  .msg_namelen = sizeof *sender,
                                                  .msg_iov = &floor->out_bytes,
                                                  .msg_iovlen = 1};
    if (count < SEND_BATCH && i + 1 < floor->count) continue;
    sendmmsg(floor->fd, floor->out, count, 0);
    count = 0;
  }
  if (count > 0) sendmmsg(floor->fd, floor->out, count, 0);
}

static void take(Floor *floor, int index, unsigned size) {
  const struct sockaddr_in *from = &floor->from[index];
  if (size == 1 && floor->is_busy) floor->count = 0;
  floor->is_busy = size != 1;
  if (size == 1 && floor->count < MEMBERS_MAX) {
    floor->members[floor->count++] = *from;
    sendto(floor->fd, "", 1, 0, (const struct sockaddr *)from, sizeof *from);
    return;
  }
  floor->out_bytes = (struct iovec){floor->bytes[index], size};
  send_all(floor, from);
}

int main(void) {
  Floor *floor = calloc(1, sizeof *floor);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (!floor) return 1;
  floor->fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(floor->fd, (struct sockaddr *)&address, size)) return 1;
  getsockname(floor->fd, (struct sockaddr *)&address, &size);
  printf("floor: serving on 127.0.0.1:%u\nfloor: ready\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    for (int i = 0; i < READ_BATCH; i++) {
      floor->in_bytes[i] = (struct iovec){floor->bytes[i], DATAGRAM_MAX};
      floor->in[i].msg_hdr = (struct msghdr){.msg_name = &floor->from[i],
                                             .msg_namelen = sizeof floor->from[i],
                                             .msg_iov = &floor->in_bytes[i],
                                             .msg_iovlen = 1};
    }
    int count = recvmmsg(floor->fd, floor->in, READ_BATCH, MSG_WAITFORONE, NULL);
    for (int i = 0; i < count; i++) take(floor, i, floor->in[i].msg_len);
  }
}
