--- libperigee, the client in C, by LuaJIT's FFI: its declarations as include/perigee.h has them (as
--- far as they are used here), and where it is found.

local ffi = require "ffi"

ffi.cdef [[
typedef enum PerigeeCode { PERIGEE_NOT_JOINED = -8, PERIGEE_BAD_ARGUMENT = -7, PERIGEE_TOO_LARGE = -6,
  PERIGEE_OFFLINE = -5, PERIGEE_OVER = -4, PERIGEE_QUEUE_FULL = -3, PERIGEE_UNREACHABLE = -2,
  PERIGEE_TIMEOUT = -1, PERIGEE_CONNECTION_CLOSED = 0, PERIGEE_CONNECTION_RESET = 1,
  PERIGEE_IDLE_TIMEOUT = 2, PERIGEE_PING_TIMEOUT = 3, PERIGEE_PAYLOAD_TOO_LARGE = 4, PERIGEE_PROTOCOL =
  5, PERIGEE_KICKED = 6, PERIGEE_REJECTED = 7, PERIGEE_SERVER_FULL = 8, PERIGEE_VERSION_MISMATCH = 9,
  PERIGEE_PROTOCOL_HASH_MISMATCH = 10, PERIGEE_NO_SUCH_ROOM = 11, PERIGEE_NOT_IN_ROOM = 12,
  PERIGEE_ALREADY_IN_ROOM = 13, PERIGEE_CHANNEL_NOT_FOUND = 14, PERIGEE_CHANNEL_TAKEN = 15,
  PERIGEE_RATE_LIMITED = 16, PERIGEE_HANDSHAKE_TIMEOUT = 17, PERIGEE_UNSUPPORTED = 18, PERIGEE_INTERNAL
  = 19, PERIGEE_UNAUTHORIZED = 20, PERIGEE_SLOW_CONSUMER = 21, PERIGEE_REPLACED = 22, PERIGEE_ROOM_FULL
  = 23, PERIGEE_UNAVAILABLE = 24 } PerigeeCode;
typedef enum PerigeeState { PERIGEE_STATE_CONNECTING, PERIGEE_STATE_OPEN, PERIGEE_STATE_RECONNECTING,
  PERIGEE_STATE_CLOSING, PERIGEE_STATE_CLOSED } PerigeeState;
typedef enum PerigeeSendFlags { PERIGEE_UNRELIABLE = 1, PERIGEE_CRITICAL = 2, PERIGEE_HIGH = 4,
  PERIGEE_LOW = 8 } PerigeeSendFlags;
typedef enum PerigeeTransport { PERIGEE_TCP, PERIGEE_TCP_AND_UDP, PERIGEE_UDP } PerigeeTransport;
typedef struct PerigeeClient PerigeeClient;
typedef struct PerigeeOptions { const char *name; const char *token; uint64_t protocol_hash;
  PerigeeTransport transport; uint32_t timeout_ms; uint32_t reconnect_first_ms; uint32_t
  reconnect_max_ms; uint32_t reconnect_for_ms; int reconnect; int rejoin; } PerigeeOptions;
void perigee_options_init(PerigeeOptions *options);
PerigeeClient *perigee_connect(const char *address, const PerigeeOptions *options, int *code);
void perigee_close(PerigeeClient *client);
void perigee_free(PerigeeClient *client);
int perigee_poll(PerigeeClient *client, int timeout_ms);
typedef enum PerigeeEventType { PERIGEE_CONNECTED, PERIGEE_DISCONNECTED, PERIGEE_RECONNECTING,
  PERIGEE_RESUMED, PERIGEE_LOST, PERIGEE_CLOSED, PERIGEE_JOINED, PERIGEE_LEFT, PERIGEE_PEER_JOINED,
  PERIGEE_PEER_LEFT, PERIGEE_RELAY, PERIGEE_MESSAGE, PERIGEE_QUESTION, PERIGEE_ANSWER, PERIGEE_PACKET,
  PERIGEE_FAILED, PERIGEE_ERROR, PERIGEE_ROOMS, PERIGEE_PONG, PERIGEE_SYNCED, PERIGEE_CHANNEL_OPENED,
  PERIGEE_CHANNEL_CLOSED, PERIGEE_REDIRECT, PERIGEE_UDP_UP, PERIGEE_UDP_DOWN, PERIGEE_MATCH,
  PERIGEE_TURN, PERIGEE_PACE, PERIGEE_SNAPSHOT_WANTED, PERIGEE_TREE_WANTED, PERIGEE_DESYNC,
  PERIGEE_WAITING, PERIGEE_MATCH_ENDED, PERIGEE_PEER_RENAMED } PerigeeEventType;
typedef struct PerigeeQuestion { uint32_t session; uint32_t room; uint32_t peer; uint16_t channel;
  uint16_t number; uint16_t ref; } PerigeeQuestion;
typedef enum PerigeeEntryKind { PERIGEE_INPUT, PERIGEE_INPUT_MISSING, PERIGEE_INPUT_REPEATED,
  PERIGEE_PLAYER_JOINED, PERIGEE_PLAYER_LEFT } PerigeeEntryKind;
typedef struct PerigeeEntry { PerigeeEntryKind kind; uint8_t slot; const uint8_t *data; size_t size; }
  PerigeeEntry;
typedef struct PerigeeRoomInfo { const char *name; uint32_t members; } PerigeeRoomInfo;
typedef struct PerigeeEvent { PerigeeEventType type; int code; uint32_t request; uint32_t room; uint32_t
  peer; uint32_t count; uint64_t time_us; uint16_t channel; uint16_t number; int is_question;
  PerigeeQuestion question; const char *name; const char *text; const uint8_t *data; size_t size; const
  PerigeeRoomInfo *rooms; const PerigeeEntry *entries; uint32_t entry_count; int is_odd; } PerigeeEvent;
const PerigeeEvent *perigee_next_event(PerigeeClient *client);
int perigee_join(PerigeeClient *client, const char *name, uint32_t timeout_ms);
int perigee_leave(PerigeeClient *client, uint32_t room);
int perigee_list_rooms(PerigeeClient *client, uint32_t timeout_ms);
uint32_t perigee_member_count(const PerigeeClient *client, uint32_t room);
uint32_t perigee_member(const PerigeeClient *client, uint32_t room, uint32_t index);
const char *perigee_member_name(const PerigeeClient *client, uint32_t room, uint32_t peer);
int perigee_send(PerigeeClient *client, uint32_t room, const char *name, const char *json, uint32_t
  flags);
int perigee_ask(PerigeeClient *client, uint32_t room, const char *name, const char *json, uint32_t
  timeout_ms);
int perigee_answer(PerigeeClient *client, const PerigeeQuestion *question, const char *name, const char
  *json);
int perigee_answer_bytes(PerigeeClient *client, const PerigeeQuestion *question, const void *data,
  size_t size);
int perigee_relay(PerigeeClient *client, uint32_t room, const void *data, size_t size, uint32_t flags);
int perigee_send_packet(PerigeeClient *client, uint16_t channel, uint16_t number, const void *data,
  size_t size, uint32_t flags);
int perigee_ask_packet(PerigeeClient *client, uint16_t channel, uint16_t number, const void *data,
  size_t size, uint32_t timeout_ms);
int perigee_ping(PerigeeClient *client, uint32_t timeout_ms);
int perigee_sync(PerigeeClient *client, uint32_t timeout_ms);
PerigeeState perigee_state(const PerigeeClient *client);
uint32_t perigee_peer_id(const PerigeeClient *client);
const char *perigee_name(const PerigeeClient *client);
const char *perigee_session(const PerigeeClient *client);
uint32_t perigee_max_payload(const PerigeeClient *client);
uint32_t perigee_tick_rate(const PerigeeClient *client);
uint64_t perigee_server_time_us(const PerigeeClient *client);
uint64_t perigee_clock_us(void);
uint32_t perigee_version(void);
const char *perigee_code_name(int code);
]]

-- A game in LÖVE may bring the library along, in its own folder.
local function brought_along()
  local love = _G.love
  local path = love and love.filesystem.getSource() .. "/libperigee.so"
  local file = path and io.open(path)
  if not file then return nil end
  file:close()
  return path
end


--- The library: where the environment variable PERIGEE_LIBRARY says, else in the folder of a LÖVE game, else
--- where the system looks for libperigee.so.
local ok, library = pcall(ffi.load, os.getenv "PERIGEE_LIBRARY" or brought_along() or "perigee")
if not ok then
  error(("perigee.native needs libperigee.so (docs/c-client.md has how to build it): put it into the game's "
    .. "folder, install it, or name it in the environment variable PERIGEE_LIBRARY; %s"):format(library), 0)
end

-- Of the declarations above.
local MAJOR, MINOR = 0, 1

local version = library.perigee_version()
if bit.rshift(version, 8) ~= 256 * MAJOR + MINOR then
  error(("libperigee.so is of version %d.%d, and perigee.native of %d.%d: take both from the same Perigee")
    :format(bit.rshift(version, 16), bit.band(bit.rshift(version, 8), 255), MAJOR, MINOR), 0)
end

return library
