// The control channel (docs/protocol.md, section 3): decodes the packets of clients,
// and encodes the packets of a session. relay/notify.c encodes the packets about rooms.
// Decoders return 0 or ERR_MALFORMED; a payload that is too short or too long is
// malformed. Decoded texts point into the packet. Encoders append a payload without a
// header.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/code.h"
#include "wire/packet.h"
#include "wire/reader.h"

enum {
  PROTOCOL_VERSION = 1,
  UUID_SIZE = 16,
  WELCOME_KEY_SIZE = 32,
  CONTROL_DEV_ERROR_MAX = 12 << 10
};

typedef enum ControlType {
  CONTROL_HELLO = 1,
  CONTROL_JOIN = 2,
  CONTROL_LEAVE = 3,
  CONTROL_BROADCAST = 4,
  CONTROL_PING = 5,
  CONTROL_PONG = 6,
  CONTROL_ACK = 7,
  CONTROL_CHANNEL_OPEN = 8,
  CONTROL_CHANNEL_CLOSE = 9,
  CONTROL_ROOM_LIST = 10,
  CONTROL_BYE = 11,
  CONTROL_SIGN_IN = 12,
  CONTROL_TOOL_ADD = 13,
  CONTROL_TOOL_REMOVE = 14,
  CONTROL_JOIN_WITH = 15,
  CONTROL_ROOM_QUERY = 16,
  CONTROL_WELCOME = 129,
  CONTROL_JOINED = 130,
  CONTROL_LEFT = 131,
  CONTROL_RELAYED = 132,  // a BROADCAST, as the server sends it to clients
  CONTROL_PEER_JOINED = 133,
  CONTROL_PEER_LEFT = 134,
  CONTROL_ERROR = 135,
  CONTROL_REJECTED = 136,
  CONTROL_CLOSING = 137,
  CONTROL_CHANNEL_OPENED = 138,
  CONTROL_ROOMS = 139,
  CONTROL_REDIRECT = 140,
  CONTROL_DEV_ASSET = 141,
  CONTROL_DEV_ERROR = 142,
  CONTROL_SIGNED_IN = 143,
  CONTROL_PEER_RENAMED = 144,
  CONTROL_ROOMS_META = 145,
  CONTROL_FAULT = 146,
} ControlType;

typedef struct Hello {
  uint16_t version;
  uint64_t protocol_hash;
  Text name;
  Text token;
  const uint8_t *resume_token;  // UUID_SIZE bytes
  uint32_t reliable_received;
} Hello;

/// The session to which WELCOME belongs: a new or a continued one. A client treats a
/// value that it does not know as WELCOME_NEW.
typedef enum WelcomeResumed {
  WELCOME_NEW,
  WELCOME_RESUMED,
  WELCOME_RESTORED,  // the process has changed, so the streams begin again
} WelcomeResumed;

typedef struct Welcome {
  uint32_t peer;
  const uint8_t *session;       // UUID_SIZE bytes
  const uint8_t *resume_token;  // UUID_SIZE bytes; zeros: the session cannot be resumed
  uint64_t server_time_us;
  uint32_t max_payload;
  uint32_t ping_interval_ms;
  uint16_t tick_rate;
  uint8_t resumed;  // WelcomeResumed
  uint32_t reliable_received;
  uint16_t udp_port;       // 0: this connection cannot use UDP
  const uint8_t *udp_key;  // WELCOME_KEY_SIZE bytes; NULL: no key, so zeros are sent
} Welcome;

int control_read_hello(const Packet *packet, Hello *hello);

/// Decodes JOIN and CHANNEL_OPEN: one str8.
int control_read_name(const Packet *packet, Text *name);

/// Decodes JOIN_WITH: one str8 and the rest of the payload.
int control_read_name_rest(const Packet *packet, Text *name, Text *rest);

/// Decodes LEAVE and ACK: one u32.
int control_read_u32(const Packet *packet, uint32_t *value);

/// Decodes CHANNEL_CLOSE: one u16.
int control_read_u16(const Packet *packet, uint16_t *value);

/// Decodes PING and PONG: one u64.
int control_read_u64(const Packet *packet, uint64_t *value);

/// Decodes ROOM_LIST and BYE, which have no fields.
int control_read_empty(const Packet *packet);

/// Decodes BROADCAST and messages: a u32 room and the rest of the payload.
int control_read_room_data(const Packet *packet, uint32_t *room, Text *data);

void control_welcome(Buf *buf, const Welcome *welcome);

/// Encodes PEER_RENAMED. Room 0 means the receiving peer itself.
void control_peer_renamed(Buf *buf, uint32_t room, uint32_t peer, Text name);

/// Encodes ERROR, and the beginning of REJECTED and CLOSING: u16 code and str16 text.
void control_code_text(Buf *buf, Code code, const char *text);

/// An error of the game that answers a request: a code, and a value as JSON.
typedef struct Fault {
  Text code;
  Text json;
} Fault;

void control_fault(Buf *buf, const Fault *fault);

/// The reason of a connection's end, as REJECTED or CLOSING reports it to the client.
typedef struct Ending {
  Code code;
  const char *text;
  uint16_t retry_s;  // with CODE_UNAVAILABLE: seconds until the client may try again
} Ending;

/// Encodes REJECTED and CLOSING: code and text. CODE_UNAVAILABLE adds u16 retry_s.
void control_ending(Buf *buf, const Ending *ending);

/// Encodes DEV_ASSET: the path of a page's file, cut at 255 bytes. The path is relative
/// to the folder of the pages.
void control_dev_asset(Buf *buf, const char *path);

/// Encodes DEV_ERROR. An empty text means that the error is over.
void control_dev_error(Buf *buf, const char *text);
