// The UDP side of a client: its socket, the request that begins it, and the link of src/wire
// that does the rest. Knows nothing of clients; time comes from the caller, in microseconds.
#pragma once

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/packet.h"
#include "wire/udp/handshake.h"
#include "wire/udp/link.h"

typedef enum DatagramsPhase {
  DATAGRAMS_OFF,
  DATAGRAMS_ASKING,  // the request is repeated until it is answered
  DATAGRAMS_ON,
} DatagramsPhase;

typedef struct Datagrams {
  DatagramsPhase phase;
  bool is_attached;
  bool has_cookie;
  int fd;
  struct sockaddr_storage address;  // of the server
  socklen_t address_size;
  const struct addrinfo *next;  // alone: to try, should this one not answer
  uint64_t hash;
  uint32_t peer;                 // attached: whose session
  uint8_t secret[UDP_KEY_SIZE];  // the key of WELCOME, or of this client's X25519
  uint8_t client_key[UDP_KEY_SIZE];
  uint8_t cookie[UDP_COOKIE_SIZE];  // zeros: none yet
  uint16_t sequence;
  uint64_t due_us;    // when the request is repeated,
  uint64_t pause_us;  // after this time,
  uint64_t until_us;  // and until when; 0: for as long as the caller likes
  UdpLink *link;
  Code code;         // why it was refused
  uint16_t retry_s;  // with CODE_UNAVAILABLE: until the next try, at least
  size_t text_size;
  char text[UDP_ANSWER_MAX];
  uint8_t bytes[UDP_DATAGRAM_MAX + 1];  // the datagram that was taken last
} Datagrams;

/// What a session that is there says of UDP.
typedef struct Attachment {
  uint64_t hash;
  uint32_t peer;
  uint16_t port;
  const uint8_t *key;  // UDP_KEY_SIZE bytes
} Attachment;

/// Begins to ask for a connection of its own, at the first of the addresses that can be tried; they
/// stay the caller's. False when nothing can be reached.
bool datagrams_open(Datagrams *d, const struct addrinfo *addresses, uint64_t hash,
                    uint64_t now_us);

/// Gives the address up that is being asked, for the next; false when there is none.
bool datagrams_skip(Datagrams *d, uint64_t now_us);

/// Begins to ask for one beside the TCP connection `stream`; it stays off where that cannot be.
void datagrams_attach(Datagrams *d, int stream, const Attachment *attachment,
                      uint64_t now_us);

typedef enum DatagramsNews {
  DATAGRAMS_NOTHING,      // nothing more is there
  DATAGRAMS_IGNORED,      // one that means nothing, or is the library's own affair
  DATAGRAMS_TAKEN,        // udp_link_next tells what
  DATAGRAMS_BEGUN,        // the request was accepted
  DATAGRAMS_REFUSED,      // or not: see `code` and `text`
  DATAGRAMS_UNREACHABLE,  // nobody listens there
  DATAGRAMS_BROKEN,       // the server breaks the protocol
} DatagramsNews;

/// Receives one datagram.
DatagramsNews datagrams_receive(Datagrams *d, uint64_t now_us);

/// Whether what may be lost is to go this way.
bool datagrams_pass(const Datagrams *d, uint64_t now_us);

/// Queues a packet (its header and all its bytes) that may go this way; false for one that may not,
/// or does not fit.
bool datagrams_take(Datagrams *d, const Packet *header, const uint8_t *bytes,
                    size_t size);

/// Sends what is due; false when it is no use any more.
bool datagrams_send(Datagrams *d, uint64_t now_us);

/// When datagrams_send is to be called though nothing has come; UINT64_MAX: never.
uint64_t datagrams_due_us(const Datagrams *d);

/// Ends it with this code, and gives everything back; what is off already stays so.
void datagrams_close(Datagrams *d, int code, uint64_t now_us);
