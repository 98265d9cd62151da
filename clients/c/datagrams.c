// UDP, alone or beside a TCP connection (docs/protocol.md, section 16): the request for it, and
// the socket of a UdpLink, which does the rest.
#include "datagrams.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "internal.h"

enum {
  REPEAT_US = 250 * 1000,       // until a request is repeated for the first time
  ATTACH_MAX_US = 5 * 1000000,  // for how long a client tries to attach
  QUEUE_PACKETS = 1024,
};

// --- The socket ---

static bool open_socket(Datagrams *d) {
  d->fd = socket(d->address.ss_family, SOCK_DGRAM, 0);
  return d->fd >= 0 && fcntl(d->fd, F_SETFL, O_NONBLOCK) == 0 &&
         fcntl(d->fd, F_SETFD, FD_CLOEXEC) == 0 &&
         connect(d->fd, (struct sockaddr *)&d->address, d->address_size) == 0;
}

static void close_socket(Datagrams *d) {
  if (d->fd >= 0) close(d->fd);
  d->fd = -1;
}

static void set_port(struct sockaddr_storage *address, uint16_t port) {
  if (address->ss_family == AF_INET6)
    ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
  else
    ((struct sockaddr_in *)address)->sin_port = htons(port);
}

// A datagram that does not go is as good as one that is lost.
static void put(const Datagrams *d, const uint8_t *bytes, size_t size) {
  (void)!send(d->fd, bytes, size, MSG_NOSIGNAL);
}

// --- Asking ---

static void send_request(Datagrams *d) {
  uint8_t bytes[UDP_REQUEST_MAX], proof[UDP_KEY_SIZE];
  UdpExtension extension = {.cookie = d->has_cookie ? d->cookie : NULL,
                            .client_key = d->client_key};
  if (d->is_attached) {
    extension.flags = UDP_ATTACH;
    extension.peer = d->peer;
    extension.proof = proof;
    udp_proof(d->secret, d->cookie, d->client_key, proof);
  }
  put(d, bytes, udp_write_request(bytes, d->hash, d->sequence, &extension));
}

static void ask(Datagrams *d, uint64_t now_us) {
  d->phase = DATAGRAMS_ASKING;
  d->pause_us = REPEAT_US;
  d->due_us = now_us + d->pause_us;
  randombytes_buf(&d->sequence, sizeof d->sequence);
  randombytes_buf(d->is_attached ? d->client_key : d->secret, UDP_KEY_SIZE);
  if (!d->is_attached) udp_public_key(d->secret, d->client_key);
  send_request(d);
}

// Takes the next address of the host; false when there is none.
static bool try_next(Datagrams *d, uint64_t now_us) {
  for (; d->next; d->next = d->next->ai_next) {
    close_socket(d);
    memcpy(&d->address, d->next->ai_addr, d->next->ai_addrlen);
    d->address_size = d->next->ai_addrlen;
    if (!open_socket(d)) continue;
    d->next = d->next->ai_next;
    d->has_cookie = false;
    memset(d->cookie, 0, sizeof d->cookie);
    ask(d, now_us);
    return true;
  }
  return false;
}

bool datagrams_open(Datagrams *d, const struct addrinfo *addresses, uint64_t hash,
                    uint64_t now_us) {
  *d = (Datagrams){.fd = -1, .hash = hash, .next = addresses};
  return udp_keys_init() == 0 && try_next(d, now_us);
}

bool datagrams_skip(Datagrams *d, uint64_t now_us) { return try_next(d, now_us); }

void datagrams_attach(Datagrams *d, int stream, const Attachment *attachment,
                      uint64_t now_us) {
  *d = (Datagrams){.fd = -1,
                   .is_attached = true,
                   .hash = attachment->hash,
                   .peer = attachment->peer,
                   .until_us = now_us + ATTACH_MAX_US};
  memcpy(d->secret, attachment->key, UDP_KEY_SIZE);
  d->address_size = sizeof d->address;
  if (udp_keys_init() != 0 ||
      getpeername(stream, (struct sockaddr *)&d->address, &d->address_size) != 0)
    return;
  set_port(&d->address, attachment->port);
  if (open_socket(d))
    ask(d, now_us);
  else
    close_socket(d);
}

// The connection is there: everything goes to this port from now on.
static bool begin(Datagrams *d, const UdpAnswer *answer, uint64_t now_us) {
  uint8_t shared[UDP_KEY_SIZE];
  UdpAgreement agreement = {.secret = d->secret,
                            .cookie = d->cookie,
                            .client_key = d->client_key,
                            .server_key = answer->server_key};
  if (!d->has_cookie) return false;
  if (!d->is_attached) {
    if (!answer->server_key ||
        !udp_shared_secret(d->secret, answer->server_key, shared))
      return false;
    agreement.secret = shared;
  } else if (answer->server_key) {
    return false;
  }
  UdpLinkParams params = {.first_sent = d->sequence,
                          .first_received = answer->sequence,
                          .is_attached = d->is_attached,
                          .queue_capacity = QUEUE_PACKETS,
                          .overflow = UDP_DROP_OLDEST};
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  set_port(&d->address, answer->port);
  if (connect(d->fd, (struct sockaddr *)&d->address, d->address_size) != 0)
    return false;
  d->link = udp_link_new(&params, now_us);
  d->phase = DATAGRAMS_ON;
  return true;
}

static DatagramsNews take_answer(Datagrams *d, const uint8_t *bytes, size_t size,
                                 uint64_t now_us) {
  UdpAnswer answer;
  if (udp_read_answer(bytes, size, &answer) != 0) return DATAGRAMS_IGNORED;
  if (answer.type == UDP_CHALLENGE) {
    if (d->has_cookie) return DATAGRAMS_IGNORED;  // it would be another connection
    memcpy(d->cookie, answer.cookie, UDP_COOKIE_SIZE);
    d->has_cookie = true;
    send_request(d);
    return DATAGRAMS_IGNORED;
  }
  if (answer.type == UDP_REJECTED) {
    d->code = answer.code;
    d->retry_s = answer.retry_s;
    d->text_size = text_is_utf8(answer.text, answer.text_size) ? answer.text_size : 0;
    memcpy(d->text, answer.text, d->text_size);
    return DATAGRAMS_REFUSED;
  }
  return begin(d, &answer, now_us) ? DATAGRAMS_BEGUN : DATAGRAMS_IGNORED;
}

// --- Receiving ---

DatagramsNews datagrams_receive(Datagrams *d, uint64_t now_us) {
  if (d->phase == DATAGRAMS_OFF) return DATAGRAMS_NOTHING;
  ssize_t size = recv(d->fd, d->bytes, sizeof d->bytes, 0);
  if (size < 0 && errno == EINTR) return DATAGRAMS_IGNORED;
  if (size < 0 && errno == ECONNREFUSED && d->phase == DATAGRAMS_ASKING)
    return try_next(d, now_us) ? DATAGRAMS_IGNORED : DATAGRAMS_UNREACHABLE;
  if (size < 0) return DATAGRAMS_NOTHING;
  if (d->phase == DATAGRAMS_ASKING)
    return take_answer(d, d->bytes, (size_t)size, now_us);
  switch (udp_link_receive(d->link, now_us, d->bytes, (size_t)size)) {
    case UDP_BROKEN:
      return DATAGRAMS_BROKEN;
    case UDP_REFUSED:
      return DATAGRAMS_IGNORED;
    default:
      return DATAGRAMS_TAKEN;
  }
}

// --- Sending ---

bool datagrams_pass(const Datagrams *d, uint64_t now_us) {
  return d->phase == DATAGRAMS_ON && !udp_link_is_closed(d->link) &&
         udp_link_passing(d->link, now_us) == UDP_PASSES;
}

bool datagrams_take(Datagrams *d, const Packet *header, const uint8_t *bytes,
                    size_t size) {
  if (size > UDP_PACKET_MAX || !udp_may_be_lost(header)) return false;
  udp_link_send(d->link, bytes, size, 0);
  return true;
}

static bool repeat(Datagrams *d, uint64_t now_us) {
  if (d->until_us != 0 && now_us >= d->until_us) return false;
  if (now_us < d->due_us) return true;
  d->pause_us *= 2;
  d->due_us = now_us + d->pause_us;
  send_request(d);
  return true;
}

bool datagrams_send(Datagrams *d, uint64_t now_us) {
  if (d->phase == DATAGRAMS_OFF) return true;
  if (d->phase == DATAGRAMS_ASKING) return repeat(d, now_us);
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size;
  while ((size = udp_link_produce(d->link, now_us, bytes)) > 0) put(d, bytes, size);
  return udp_link_passing(d->link, now_us) != UDP_GONE;
}

uint64_t datagrams_due_us(const Datagrams *d) {
  if (d->phase == DATAGRAMS_OFF) return UINT64_MAX;
  return d->phase == DATAGRAMS_ASKING ? d->due_us : udp_link_deadline(d->link);
}

void datagrams_close(Datagrams *d, int code, uint64_t now_us) {
  if (d->phase == DATAGRAMS_ON) {
    // A second one, should the first be lost; who hears of neither finds out in time.
    uint8_t bytes[UDP_DATAGRAM_MAX];
    udp_link_close(d->link, (Code)code);
    size_t size = udp_link_produce(d->link, now_us, bytes);
    if (size > 0) put(d, bytes, size);
  }
  udp_link_free(d->link);
  close_socket(d);
  *d = (Datagrams){.fd = -1};
}
