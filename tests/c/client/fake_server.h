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
  PerigeeClient *client;  // client that is driven while a test waits
  void (*turn)(void);     // also called while a test waits; may be NULL
} FakeServer;

void fake_open(FakeServer *server);
void fake_close(FakeServer *server);

/// Frees a FakeServer that is the state of a test.
int fake_tear_down(void **state);

/// Waits for the newest connection; earlier calls have returned all earlier
/// connections.
FakePeer *fake_accept(FakeServer *server);

/// Returns the client's next packet of this channel and type, and skips its pings and
/// ACKs. The packet is valid until the next call.
Packet fake_expect(FakeServer *server, FakePeer *peer, uint16_t channel, uint16_t type);

/// Returns the client's next packet of any kind.
Packet fake_expect_any(FakeServer *server, FakePeer *peer);

/// Returns the client's next event, which must have this type.
const PerigeeEvent *fake_event(FakeServer *server, PerigeeEventType type);

/// Expects no event, even after the client has handled all sent bytes.
void fake_expect_silence(FakeServer *server);

/// Returns whether a message has this room and this body.
void fake_expect_body(const Packet *packet, uint32_t room, const char *body);

/// Expects the client's next packet to be this message.
Packet fake_expect_message(FakeServer *server, FakePeer *peer, uint32_t room,
                           const char *body);

void fake_send(FakePeer *peer, const void *bytes, size_t size);

/// Sends a packet. `format` describes its payload: b, w, d, q are integers of 1, 2, 4,
/// 8 bytes (as uint64_t); s is a str8, S a str16, t text without a length; z is a
/// number of zeros (as size_t).
void fake_packet(FakePeer *peer, Packet header, const char *format, ...);

/// Returns the header of a control packet, or of the answer to a request.
Packet fake_control(uint16_t type);
Packet fake_answer(uint16_t type, const Packet *request);

/// Breaks the connection.
void fake_cut(FakePeer *peer);

/// Expects the code of an event whose connection was cut.
void fake_expect_cut(const PerigeeEvent *event);

/// Contents of a WELCOME. Each token has 16 equal bytes; 0: the session cannot be
/// resumed.
typedef struct FakeWelcome {
  uint8_t token;
  uint32_t id;  // peer id; 0: SELF
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

/// Writes the packet that FakePeer would send, for another transport.
void fake_welcome_packet(Buf *bytes, const FakeWelcome *welcome);

/// Returns a client that the server has accepted with a token; `options` may be NULL.
FakePeer *fake_connect(FakeServer *server, const PerigeeOptions *options,
                       uint8_t token);

/// Returns such a client after it has joined ROOM, called "arena", with bob and cleo.
/// `room` gets the client's number of the room.
FakePeer *fake_connect_in_room(FakeServer *server, const PerigeeOptions *options,
                               uint8_t token, uint32_t *room);

/// Accepts the client's JOIN, with those peers as members.
void fake_let_in(FakeServer *server, FakePeer *peer, uint32_t id, const char *name,
                 const char *members);

/// Sends a JOINED that the client has not requested.
void fake_joined(FakePeer *peer, uint32_t id, const char *name, uint32_t self,
                 const char *members, uint8_t flags, uint16_t ref);

/// Returns the default options, with shorter pauses for tests.
PerigeeOptions fake_options(void);

/// Cuts the connection, and waits for the client's next one. `hello` (may be NULL) gets
/// the content of its HELLO.
FakePeer *fake_return(FakeServer *server, FakePeer *peer, FakeHello *hello);

/// Cuts the connection, and resumes the session on the next one.
FakePeer *fake_resume(FakeServer *server, FakePeer *peer, uint8_t token,
                      uint32_t received);
