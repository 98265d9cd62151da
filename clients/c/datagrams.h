// The UDP connection of a client: requests it, and then carries packets with the
// UdpLink of src/wire. This file knows neither clients nor sockets; callers pass the
// time in microseconds.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

typedef enum DatagramsPhase {
  DATAGRAMS_REQUESTING,  // repeats the request until the server answers
  DATAGRAMS_ON,
  DATAGRAMS_ENDING,  // must send one CLOSE
} DatagramsPhase;

typedef struct Datagrams {
  DatagramsPhase phase;
  bool is_attached;
  bool has_cookie;
  bool is_due;    // while requesting: the request must be sent at once
  uint16_t port;  // port of the server; 0: the port of its address
  uint64_t hash;
  uint32_t peer;  // attached: peer id of the session
  uint8_t secret
      [UDP_KEY_SIZE];  // attached: key in WELCOME; otherwise: secret key of client_key
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t cookie[UDP_COOKIE_SIZE];  // zeros: no cookie yet
  uint16_t sequence;
  uint64_t due_us;    // time of the next request
  uint64_t pause_us;  // pause between the last request and the next
  uint64_t until_us;  // time at which requesting ends; UINT64_MAX: never
  UdpLink *link;
} Datagrams;

/// The data of a session for attaching UDP.
typedef struct Attachment {
  uint64_t hash;
  uint32_t peer;
  uint16_t port;
  const uint8_t *key;  // UDP_KEY_SIZE bytes
} Attachment;

/// Begins to request a UDP connection for a game with this protocol hash. With an
/// `attachment`, the connection belongs to a session over TCP; NULL: it replaces TCP.
/// Returns NULL if libsodium does not work.
Datagrams *datagrams_new(const Attachment *attachment, uint64_t hash, uint64_t now_us);

/// Frees the datagrams; NULL is allowed.
void datagrams_free(Datagrams *d);

typedef enum DatagramsNews {
  DATAGRAMS_IGNORED,  // the datagram is invalid, or concerns only the handshake
  DATAGRAMS_TAKEN,    // udp_link_next returns its contents
  DATAGRAMS_BEGUN,    // the server has accepted the request
  DATAGRAMS_REFUSED,  // the server has refused the request
  DATAGRAMS_BROKEN,   // the server breaks the protocol
} DatagramsNews;

/// Handles a datagram and changes its bytes. With DATAGRAMS_REFUSED, `refusal` is the
/// reason, which points into the datagram.
DatagramsNews datagrams_receive(Datagrams *d, uint8_t *bytes, size_t size,
                                UdpAnswer *refusal, uint64_t now_us);

/// Returns whether unreliable packets should use datagrams.
bool datagrams_pass(const Datagrams *d, uint64_t now_us);

/// Returns whether to give up: the server has answered no request in time, or datagrams
/// do not get through any more.
bool datagrams_are_useless(const Datagrams *d, uint64_t now_us);

/// Queues a packet, given by its header and all its bytes. Returns false if the packet
/// must not travel in a datagram, or does not fit into one.
bool datagrams_send(Datagrams *d, const Packet *header, const uint8_t *bytes,
                    size_t size);

/// Writes the next datagram that is due; returns its size, 0: none.
size_t datagrams_produce(Datagrams *d, uint64_t now_us, uint8_t out[UDP_DATAGRAM_MAX]);

/// Returns the time for the next call of datagrams_produce if no datagram comes before.
uint64_t datagrams_due_us(const Datagrams *d);

/// Ends the connection with this code. Returns false if no CLOSE has to be sent.
bool datagrams_end(Datagrams *d, int code);
