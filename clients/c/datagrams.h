// The datagrams of a client: the request that begins a UDP connection, and the link of src/wire
// that does the rest. Knows nothing of clients and sockets; the caller brings the time, in
// microseconds.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

typedef enum DatagramsPhase {
  DATAGRAMS_ASKING,  // repeats the request until the server answers
  DATAGRAMS_ON,
  DATAGRAMS_ENDING,  // one CLOSE is to be sent
} DatagramsPhase;

typedef struct Datagrams {
  DatagramsPhase phase;
  bool is_attached;
  bool has_cookie;
  bool is_due;    // ASKING: the request is to be sent at once
  uint16_t port;  // of the server; 0: that of its address
  uint64_t hash;
  uint32_t peer;                 // attached: whose session
  uint8_t secret[UDP_KEY_SIZE];  // the key of WELCOME, or of this client's X25519
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t cookie[UDP_COOKIE_SIZE];  // zeros: none yet
  uint16_t sequence;
  uint64_t due_us;    // when the request is repeated
  uint64_t pause_us;  // between the last request and the next
  uint64_t until_us;  // when to stop asking; UINT64_MAX: never
  UdpLink *link;
} Datagrams;

/// What a session says about UDP.
typedef struct Attachment {
  uint64_t hash;
  uint32_t peer;
  uint16_t port;
  const uint8_t *key;  // UDP_KEY_SIZE bytes
} Attachment;

/// Begins to ask for a connection beside a TCP connection; of its own where `attachment` is NULL,
/// for a game with this protocol hash. NULL where libsodium cannot be used.
Datagrams *datagrams_new(const Attachment *attachment, uint64_t hash, uint64_t now_us);

/// NULL is allowed.
void datagrams_free(Datagrams *d);

typedef enum DatagramsNews {
  DATAGRAMS_IGNORED,  // the datagram means nothing, or concerns the handshake alone
  DATAGRAMS_TAKEN,    // udp_link_next returns its contents
  DATAGRAMS_BEGUN,    // the server has accepted the request
  DATAGRAMS_REFUSED,  // the server has refused it, for the reason in the UdpAnswer
  DATAGRAMS_BROKEN,   // the server breaks the protocol
} DatagramsNews;

/// Takes a datagram, which it changes; `refusal` points into it.
DatagramsNews datagrams_receive(Datagrams *d, uint8_t *bytes, size_t size,
                                UdpAnswer *refusal, uint64_t now_us);

/// Whether unreliable packets are to go this way.
bool datagrams_pass(const Datagrams *d, uint64_t now_us);

/// Whether asking, or sending, has become useless.
bool datagrams_are_useless(const Datagrams *d, uint64_t now_us);

/// Queues a packet, given by its header and all its bytes. False for one that may not go this way
/// or does not fit.
bool datagrams_send(Datagrams *d, const Packet *header, const uint8_t *bytes,
                    size_t size);

/// Writes the next datagram that is due; returns its size, 0: none.
size_t datagrams_produce(Datagrams *d, uint64_t now_us, uint8_t out[UDP_DATAGRAM_MAX]);

/// When datagrams_produce is to be called though nothing has come.
uint64_t datagrams_due_us(const Datagrams *d);

/// Ends the connection with this code. False where no datagram has to say so.
bool datagrams_end(Datagrams *d, int code);
