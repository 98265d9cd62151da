// The codes of errors and disconnects (docs/protocol.md, section 3). The wire, scripts
// and the log use them.
#pragma once

// X(constant, number, name)
#define CODE_MAP(X)                                 \
  X(CODE_CLOSED, 0, "ConnectionClosed")             \
  X(CODE_RESET, 1, "ConnectionReset")               \
  X(CODE_IDLE_TIMEOUT, 2, "IdleTimeout")            \
  X(CODE_PING_TIMEOUT, 3, "PingTimeout")            \
  X(CODE_PAYLOAD_TOO_LARGE, 4, "PayloadTooLarge")   \
  X(CODE_PROTOCOL, 5, "Protocol")                   \
  X(CODE_KICKED, 6, "Kicked")                       \
  X(CODE_REJECTED, 7, "Rejected")                   \
  X(CODE_SERVER_FULL, 8, "ServerFull")              \
  X(CODE_VERSION_MISMATCH, 9, "VersionMismatch")    \
  X(CODE_HASH_MISMATCH, 10, "ProtocolHashMismatch") \
  X(CODE_NO_SUCH_ROOM, 11, "NoSuchRoom")            \
  X(CODE_NOT_IN_ROOM, 12, "NotInRoom")              \
  X(CODE_ALREADY_IN_ROOM, 13, "AlreadyInRoom")      \
  X(CODE_CHANNEL_NOT_FOUND, 14, "ChannelNotFound")  \
  X(CODE_CHANNEL_TAKEN, 15, "ChannelTaken")         \
  X(CODE_RATE_LIMITED, 16, "RateLimited")           \
  X(CODE_HANDSHAKE_TIMEOUT, 17, "HandshakeTimeout") \
  X(CODE_UNSUPPORTED, 18, "Unsupported")            \
  X(CODE_INTERNAL, 19, "Internal")                  \
  X(CODE_UNAUTHORIZED, 20, "Unauthorized")          \
  X(CODE_SLOW_CONSUMER, 21, "SlowConsumer")         \
  X(CODE_REPLACED, 22, "Replaced")                  \
  X(CODE_ROOM_FULL, 23, "RoomFull")                 \
  X(CODE_UNAVAILABLE, 24, "Unavailable")

typedef enum Code {
#define X(constant, number, name) constant = number,
  CODE_MAP(X)
#undef X
} Code;

/// Shortest time, in seconds, after which clients of a stopped server may try again.
enum { STOP_RETRY_S = 1 };

/// Returns the name of a code in docs/protocol.md; "Unknown" for other numbers. Static.
const char *code_name(Code code);
