// The commands of a handler. The relay collects them while the handler runs. It carries
// them out when the handler ends or waits, and discards them when it fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

/// Types of commands. The comments list the main fields that each type uses.
typedef enum CommandType {
  COMMAND_MESSAGE,  // target, id, room (of a TARGET_PEER), name, body, value_at, except
  COMMAND_RELAY,    // target, id, body, except
  COMMAND_PACKET,   // target, id, channel, packet_type, body, except
  COMMAND_ACCEPT,   // peer `id`, packet_type, flags and ref of the request
  COMMAND_ERROR,    // peer `id`, code, flags and ref of the request, body: text
  COMMAND_RENEW,    // peer `id`, body: JSON of SIGNED_IN
  COMMAND_CLOSE,    // peer `id`, code, body: text
  COMMAND_RENAME,   // peer `id`, flags: its Framing, name: the reserved name
  COMMAND_JOIN,     // peer `id`, room, token
  COMMAND_LEAVE,    // peer `id`, room, code, body: text
  COMMAND_BOT,      // bot `id`, which is reserved; room, token
  COMMAND_ACT,      // bot `id`; packet_type, flags, ref, room and body of its message
                    // (channel: CHANNEL_MESSAGE), or body: its line (CHANNEL_CONTROL)
  COMMAND_ROOM_CREATE,    // room `id`, which is reserved
  COMMAND_ROOM_DELETE,    // room `id`
  COMMAND_ROOM_SET,       // room `id`, body: a RoomSettings
  COMMAND_ROOM_META,      // room `id`, name: key, body: JSON value, flags:
                          // MetaFlags
  COMMAND_CHANNEL_OPEN,   // plugin channel `id`, from relay_channel
  COMMAND_CHANNEL_CLOSE,  // plugin channel `id`
  COMMAND_TYPE_COUNT,     // first type of the layer above (see RelayHost)
} CommandType;

/// Flags of COMMAND_ROOM_META; 0 removes the key.
typedef enum MetaFlags { META_SETS = 1, META_PUBLIC = 2 } MetaFlags;

typedef enum Target { TARGET_PEER, TARGET_ROOM, TARGET_ALL } Target;

typedef struct Command {
  uint8_t type;    // CommandType, or a type of the layer above
  uint8_t target;  // Target
  uint8_t priority;
  uint8_t flags;  // packet flags
  uint16_t channel;
  uint16_t packet_type;
  uint16_t ref;
  uint32_t id;
  uint32_t room;
  uint32_t code;
  uint32_t token;     // token of EVENT_JOINED; 0: the script needs no event
  uint64_t key;       // hash of the send option `key`; 0: none
  uint32_t value_at;  // offset of the value's JSON in a message's body; 0: no value
  Text name;
  Text body;               // JSON of a message; empty if no receiver needs it
  Text packed;             // binary form of a message whose `packet_type` is not 0
  const uint32_t *except;  // peer ids
  uint32_t except_count;
} Command;

/// Commands, one behind the other in one buffer.
typedef Buf Commands;

/// Appends a command with copies of its texts and ids. A NUL follows the copies of name and body.
void commands_push(Commands *commands, const Command *command);

/// Reads the command at `*at` (start at 0) and advances `*at`; returns false at the end.
/// Pointers are valid until the next push or cut.
bool commands_next(const Commands *commands, size_t *at, Command *command);

/// Removes all commands behind the first `size` bytes.
void commands_cut(Commands *commands, size_t size);
