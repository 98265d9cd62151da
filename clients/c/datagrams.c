// UDP, alone or beside a TCP connection (docs/protocol.md, section 16): requests the
// connection, and owns its UdpLink.
#include "datagrams.h"

#include <sodium.h>
#include <string.h>

#include "base/mem.h"

enum {
  REPEAT_US = 250 * 1000,       // time until a request is repeated for the first time
  ATTACH_MAX_US = 5 * 1000000,  // time in which a client tries to attach
  QUEUE_PACKETS = 1024,
};

Datagrams *datagrams_new(const Attachment *attachment, uint64_t hash, uint64_t now_us) {
  if (udp_keys_init() != 0) return NULL;
  Datagrams *d = mem_zalloc(sizeof *d);
  d->is_due = true;
  d->hash = hash;
  d->until_us = UINT64_MAX;
  d->pause_us = REPEAT_US;
  d->due_us = now_us + REPEAT_US;
  randombytes_buf(&d->sequence, sizeof d->sequence);
  if (attachment) {
    d->is_attached = true;
    d->peer = attachment->peer;
    d->port = attachment->port;
    d->until_us = now_us + ATTACH_MAX_US;
    memcpy(d->secret, attachment->key, UDP_KEY_SIZE);
    randombytes_buf(d->client_key, UDP_KEY_SIZE);
  } else {
    randombytes_buf(d->secret, UDP_KEY_SIZE);
    udp_public_key(d->secret, d->client_key);
  }
  return d;
}

void datagrams_free(Datagrams *d) {
  if (!d) return;
  udp_link_free(d->link);
  sodium_memzero(d->secret, sizeof d->secret);
  mem_free(d);
}

// --- Requesting ---

static size_t write_request(const Datagrams *d, uint8_t out[UDP_REQUEST_MAX]) {
  uint8_t proof[UDP_KEY_SIZE];
  UdpExtension extension = {.cookie = d->has_cookie ? d->cookie : NULL,
                            .client_key = d->client_key};
  if (d->is_attached) {
    extension.flags = UDP_ATTACH;
    extension.peer = d->peer;
    extension.proof = proof;
    udp_proof(d->secret, d->cookie, d->client_key, proof);
  }
  return udp_write_request(out, d->hash, d->sequence, &extension);
}

// Creates the link after ACCEPTED. Returns false for an answer that this client did not
// request.
static bool begin(Datagrams *d, const UdpAnswer *answer, uint64_t now_us) {
  uint8_t shared[UDP_KEY_SIZE];
  UdpAgreement agreement = {.secret = d->secret,
                            .cookie = d->cookie,
                            .client_key = d->client_key,
                            .server_key = answer->server_key};
  if (!d->has_cookie || d->is_attached != (answer->server_key == NULL)) return false;
  if (!d->is_attached) {
    if (!udp_shared_secret(d->secret, answer->server_key, shared)) return false;
    agreement.secret = shared;
  }
  UdpLinkParams params = {.first_sent = d->sequence,
                          .first_received = answer->sequence,
                          .is_attached = d->is_attached,
                          .queue_capacity = QUEUE_PACKETS,
                          .overflow = UDP_DROP_OLDEST};
  udp_keys_derive(&params.keys, UDP_CLIENT, &agreement);
  d->port = answer->port;
  d->link = udp_link_new(&params, now_us);
  d->phase = DATAGRAMS_ON;
  return true;
}

static DatagramsNews take_answer(Datagrams *d, const UdpAnswer *answer,
                                 uint64_t now_us) {
  if (answer->type == UDP_REJECTED) return DATAGRAMS_REFUSED;
  if (answer->type == UDP_ACCEPTED)
    return begin(d, answer, now_us) ? DATAGRAMS_BEGUN : DATAGRAMS_IGNORED;
  if (!d->has_cookie) {  // a second cookie belongs to another connection
    memcpy(d->cookie, answer->cookie, UDP_COOKIE_SIZE);
    d->has_cookie = d->is_due = true;
  }
  return DATAGRAMS_IGNORED;
}

DatagramsNews datagrams_receive(Datagrams *d, uint8_t *bytes, size_t size,
                                UdpAnswer *refusal, uint64_t now_us) {
  if (d->phase == DATAGRAMS_REQUESTING)
    return udp_read_answer(bytes, size, refusal) == 0 ? take_answer(d, refusal, now_us)
                                                      : DATAGRAMS_IGNORED;
  if (d->phase == DATAGRAMS_ENDING) return DATAGRAMS_IGNORED;
  switch (udp_link_receive(d->link, now_us, bytes, size)) {
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

bool datagrams_are_useless(const Datagrams *d, uint64_t now_us) {
  if (d->phase == DATAGRAMS_ON) return udp_link_passing(d->link, now_us) == UDP_GONE;
  return d->phase == DATAGRAMS_REQUESTING && now_us >= d->until_us;
}

bool datagrams_send(Datagrams *d, const Packet *header, const uint8_t *bytes,
                    size_t size) {
  if (size > UDP_PACKET_MAX || !udp_may_be_lost(header)) return false;
  udp_link_send(d->link, bytes, size, 0);
  return true;
}

size_t datagrams_produce(Datagrams *d, uint64_t now_us, uint8_t out[UDP_DATAGRAM_MAX]) {
  if (d->phase != DATAGRAMS_REQUESTING) return udp_link_produce(d->link, now_us, out);
  if (now_us >= d->due_us) {
    d->is_due = true;
    d->pause_us *= 2;
    d->due_us = now_us + d->pause_us;
  }
  if (!d->is_due) return 0;
  d->is_due = false;
  return write_request(d, out);
}

uint64_t datagrams_due_us(const Datagrams *d) {
  if (d->phase == DATAGRAMS_ON) return udp_link_deadline(d->link);
  if (d->phase == DATAGRAMS_ENDING || d->is_due) return 0;
  return d->due_us < d->until_us ? d->due_us : d->until_us;
}

bool datagrams_end(Datagrams *d, int code) {
  if (d->phase != DATAGRAMS_ON) return d->phase == DATAGRAMS_ENDING;
  udp_link_close(d->link, (Code)code);
  d->phase = DATAGRAMS_ENDING;
  return true;
}
