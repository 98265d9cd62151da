// A server on a loopback port that does what a test says, in the test's own thread:
// while a test waits for the client or for the server, both are driven. A test fails if
// an expected event misses its deadline.
#pragma once

#include <perigee.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/control.h"
#include "wire/packet.h"
#include "wire/reliable.h"

enum { FAKE_PEERS_MAX = 8, SELF = 7, ROOM = 5, BOB = 9, CLEO = 10 };

/// One connection, from the server's side.
typedef struct FakePeer {
  int fd;
  Buf in;
  size_t at;
  bool has_ended;
} FakePeer;

typedef struct FakeServer {
  int fd;
  char address[32];
  FakePeer peers[FAKE_PEERS_MAX];
  int count;
  PerigeeClient *client;  // driven meanwhile,
  void (*turn)(void);     // as is this, where it is set
} FakeServer;

void fake_open(FakeServer *server);
void fake_close(FakeServer *server);

/// The end of a test whose state is a FakeServer.
int fake_tear_down(void **state);

/// The newest connection but those that were asked for before: waits for it.
FakePeer *fake_accept(FakeServer *server);

/// The next packet of the client but pings and ACKs, of this channel and type. Valid until the next
/// call.
Packet fake_expect(FakeServer *server, FakePeer *peer, uint16_t channel, uint16_t type);

/// The same, whatever it is.
Packet fake_expect_any(FakeServer *server, FakePeer *peer);

/// The client's next event, of this type.
const PerigeeEvent *fake_event(FakeServer *server, PerigeeEventType type);

/// No event comes, even after all that was sent has been taken.
void fake_expect_silence(FakeServer *server);

/// Whether a message has this room and this body.
void fake_expect_body(const Packet *packet, uint32_t room, const char *body);

/// The client's next packet, which is this message.
Packet fake_expect_message(FakeServer *server, FakePeer *peer, uint32_t room,
                           const char *body);

void fake_send(FakePeer *peer, const void *bytes, size_t size);

/// Sends a packet whose payload is `format`'s: b, w, d, q: an integer of 1, 2, 4, 8 bytes (as uint64_t);
/// s: a str8; S: a str16; t: text without a length; z: so many zeros (as size_t).
void fake_packet(FakePeer *peer, Packet header, const char *format, ...);

/// The header of a control packet, and of the answer to a request.
Packet fake_control(uint16_t type);
Packet fake_answer(uint16_t type, const Packet *request);

/// Breaks the connection.
void fake_cut(FakePeer *peer);

/// The event's code is that of a connection that broke.
void fake_expect_cut(const PerigeeEvent *event);

/// The contents of WELCOME. Each token is 16 equal bytes; 0: no resume.
typedef struct FakeWelcome {
  uint8_t token;
  uint32_t id;  // 0: SELF
  uint8_t is_resumed;
  uint32_t received;
  uint16_t version;  // 0: 1
  uint16_t udp_port;
  const uint8_t *udp_key;  // 32 bytes; NULL: zeros
} FakeWelcome;

typedef struct FakeHello {
  uint16_t version;
  uint64_t hash;
  char name[256];
  char token[256];
  uint8_t resume[UUID_SIZE];
  uint32_t received;
} FakeHello;

FakeHello fake_hello(FakeServer *server, FakePeer *peer);
void fake_welcome(FakePeer *peer, const FakeWelcome *welcome);

/// The same packet, for another way than the stream of a FakePeer.
void fake_welcome_packet(Buf *bytes, const FakeWelcome *welcome);

/// A client that was let in with a token; options may be NULL.
FakePeer *fake_connect(FakeServer *server, const PerigeeOptions *options,
                       uint8_t token);

/// The same in ROOM, called "arena", with bob and cleo; its number is put into `room`.
FakePeer *fake_connect_in_room(FakeServer *server, const PerigeeOptions *options,
                               uint8_t token, uint32_t *room);

/// Lets the client into the room that it asks for, with those peers.
void fake_let_in(FakeServer *server, FakePeer *peer, uint32_t id, const char *name,
                 const char *members);

/// JOINED without having been asked.
void fake_joined(FakePeer *peer, uint32_t id, const char *name, uint32_t self,
                 const char *members, uint8_t flags, uint16_t ref);

/// The defaults, but for pauses that do not hold a test up.
PerigeeOptions fake_options(void);

/// The connection breaks, and the client comes back: what its HELLO says, where that is wanted.
FakePeer *fake_return(FakeServer *server, FakePeer *peer, FakeHello *hello);

/// The same, and the session goes on.
FakePeer *fake_resume(FakeServer *server, FakePeer *peer, uint8_t token,
                      uint32_t received);
