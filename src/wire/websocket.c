// Splits the stream into frames and unmasks their bytes as they arrive. Checks the
// order of frames, limits and UTF-8 as early as possible.
#include "wire/websocket.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum {
  KEEP_BYTES = 16 << 10,  // size above which a buffer is freed
  LENGTH_16 = 126,        // length value in a header: two bytes of length follow
  LENGTH_64 = 127,        // length value in a header: eight bytes of length follow
  FIN_BIT = 0x80,
  RSV_BITS = 0x70,
  OPCODE_BITS = 0x0f,
  MASK_BIT = 0x80,     // bit of the mask in the second byte
  LENGTH_BITS = 0x7f,  // bits of the length in the second byte
  MASK_BYTES = 4,
};

// State for checking text in pieces: the number of missing bytes of the current
// character, and the valid range of the next byte.
typedef struct Utf8 {
  uint8_t left, low, high;
} Utf8;

struct WsReader {
  const uint8_t *at;  // bytes that have not been read
  size_t left;
  // The current frame:
  uint8_t header[2 + 8 + MASK_BYTES];
  uint8_t header_size;  // bytes of the header that have arrived; 0: no frame
  bool is_in_frame;     // the whole header has arrived
  uint64_t frame_size, frame_left;
  uint8_t control[WS_CONTROL_MAX];
  uint8_t control_size;
  // The current message:
  uint8_t kind;       // opcode of the message; 0: none
  bool is_handed_up;  // the message was returned; the next call drops it
  Utf8 utf8;
  Buf message;
};

// --- UTF-8 ---

static bool begin_char(Utf8 *utf8, uint8_t c) {
  utf8->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
  utf8->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
  utf8->left = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
  return c < 0x80 || (c >= 0xc2 && c <= 0xf4);
}

static size_t count_ascii(const uint8_t *bytes, size_t size) {
  size_t at = 0;
  for (uint64_t word; at + sizeof word <= size; at += sizeof word) {
    memcpy(&word, bytes + at, sizeof word);
    if (word & 0x8080808080808080u) break;
  }
  return at;
}

static bool utf8_add(Utf8 *utf8, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (utf8->left == 0) {
      i += count_ascii(bytes + i, size - i);
      if (i == size) return true;
      if (!begin_char(utf8, bytes[i])) return false;
    } else {
      if (bytes[i] < utf8->low || bytes[i] > utf8->high) return false;
      utf8->left--;
      utf8->low = 0x80;
      utf8->high = 0xbf;
    }
  }
  return true;
}

// --- The reader ---

WsReader *ws_reader_new(void) { return mem_zalloc(sizeof(WsReader)); }

void ws_reader_free(WsReader *reader) {
  if (!reader) return;
  buf_deinit(&reader->message);
  mem_free(reader);
}

void ws_reader_feed(WsReader *reader, const uint8_t *bytes, size_t size) {
  reader->at = bytes;
  reader->left = size;
}

size_t ws_reader_unread(const WsReader *reader) { return reader->left; }

size_t ws_reader_held(const WsReader *reader) {
  return reader->is_handed_up ? 0 : reader->message.size;
}

bool ws_reader_is_at_rest(const WsReader *reader) {
  return reader->left == 0 && reader->header_size == 0 &&
         (reader->kind == 0 || reader->is_handed_up);
}

// --- Frames ---

static WsEvent fault(uint16_t code, const char *text) {
  return (WsEvent){.type = WS_EVENT_FAULT, .code = code, .text = text};
}

static const WsEvent NOTHING = {.type = WS_EVENT_NONE};

static bool is_control(uint8_t opcode) { return opcode & 8; }

static uint8_t opcode_of(const WsReader *reader) {
  return reader->header[0] & OPCODE_BITS;
}

static bool is_last(const WsReader *reader) { return reader->header[0] & FIN_BIT; }

// Reads more of the header; returns whether `wanted` bytes of it have arrived.
static bool fill_header(WsReader *reader, size_t wanted) {
  while (reader->header_size < wanted && reader->left > 0) {
    reader->header[reader->header_size++] = *reader->at++;
    reader->left--;
  }
  return reader->header_size >= wanted;
}

static WsEvent check_kind(const WsReader *reader) {
  uint8_t opcode = opcode_of(reader), length = reader->header[1] & LENGTH_BITS;
  if (reader->header[0] & RSV_BITS)
    return fault(WS_CODE_PROTOCOL, "a reserved bit of a frame is set");
  if (opcode > WS_PONG || (opcode > WS_BINARY && opcode < WS_CLOSE))
    return fault(WS_CODE_PROTOCOL, "a frame of an unknown kind");
  if (!(reader->header[1] & MASK_BIT))
    return fault(WS_CODE_PROTOCOL, "a client's frames are masked");
  if (is_control(opcode) && (!is_last(reader) || length > WS_CONTROL_MAX))
    return fault(WS_CODE_PROTOCOL, "a control frame that is long or in pieces");
  if (is_control(opcode)) return NOTHING;
  if (opcode == WS_CONTINUATION && reader->kind == 0)
    return fault(WS_CODE_PROTOCOL, "a continuation of no message");
  if (opcode != WS_CONTINUATION && reader->kind != 0)
    return fault(WS_CODE_PROTOCOL, "a message within a message");
  return NOTHING;
}

// Returns how many bytes of length follow the first two bytes.
static size_t length_bytes(uint8_t length) {
  return length == LENGTH_64 ? 8 : length == LENGTH_16 ? 2 : 0;
}

static WsEvent check_size(const WsReader *reader, uint64_t size, uint64_t max_message) {
  static const uint64_t LEAST[] = {[0] = 0, [2] = LENGTH_16, [8] = UINT16_MAX + 1};
  if (size >> 63 || size < LEAST[length_bytes(reader->header[1] & LENGTH_BITS)])
    return fault(WS_CODE_PROTOCOL, "the length of a frame breaks a rule");
  if (!is_control(opcode_of(reader)) &&
      (size > max_message || reader->message.size > max_message - size))
    return fault(WS_CODE_TOO_LARGE, "the message is larger than the limit");
  return NOTHING;
}

// Reads the available part of the next frame's header. Returns a fault, or
// WS_EVENT_NONE.
static WsEvent read_header(WsReader *reader, uint64_t max_message) {
  if (!fill_header(reader, 2)) return NOTHING;
  WsEvent event = check_kind(reader);
  if (event.type != WS_EVENT_NONE) return event;
  uint8_t length = reader->header[1] & LENGTH_BITS;
  size_t before_mask = 2 + length_bytes(length);
  if (!fill_header(reader, before_mask)) return NOTHING;
  uint64_t size = before_mask == 2 ? length : 0;
  for (size_t i = 2; i < before_mask; i++) size = size << 8 | reader->header[i];
  event = check_size(reader, size, max_message);
  if (event.type != WS_EVENT_NONE) return event;
  if (!fill_header(reader, before_mask + MASK_BYTES)) return NOTHING;
  reader->is_in_frame = true;
  reader->frame_size = reader->frame_left = size;
  reader->control_size = 0;
  if (is_control(opcode_of(reader)) || reader->kind != 0) return NOTHING;
  reader->kind = opcode_of(reader);
  reader->utf8 = (Utf8){0};
  return NOTHING;
}

static WsEvent end_close(const WsReader *reader) {
  const uint8_t *bytes = reader->control;
  size_t size = reader->control_size;
  WsEvent event = {.type = WS_EVENT_CLOSE, .code = WS_CODE_NONE};
  if (size == 0) return event;
  if (size == 1) return fault(WS_CODE_PROTOCOL, "half a close code");
  event.code = (uint16_t)(bytes[0] << 8 | bytes[1]);
  if (!ws_is_close_code(event.code))
    return fault(WS_CODE_PROTOCOL, "a close code that may not be sent");
  if (!text_is_utf8((const char *)bytes + 2, size - 2))
    return fault(WS_CODE_BAD_TEXT, "a close reason that is not UTF-8");
  return event;
}

static WsEvent end_message(WsReader *reader) {
  bool is_text = reader->kind == WS_TEXT;
  if (is_text && reader->utf8.left > 0)
    return fault(WS_CODE_BAD_TEXT, "a text message that is not UTF-8");
  reader->is_handed_up = true;
  return (WsEvent){.type = WS_EVENT_MESSAGE,
                   .is_text = is_text,
                   .bytes = reader->message.data,
                   .size = reader->message.size};
}

// Unmasks the next `size` bytes of the payload and writes them to `to`.
static void unmask(WsReader *reader, uint8_t *to, size_t size) {
  const uint8_t *mask = reader->header + reader->header_size - MASK_BYTES;
  uint64_t done = reader->frame_size - reader->frame_left;
  uint8_t turned[8];
  uint64_t word, key;
  size_t i = 0;
  for (size_t k = 0; k < sizeof turned; k++) turned[k] = mask[(done + k) % MASK_BYTES];
  memcpy(&key, turned, sizeof key);
  for (; i + sizeof word <= size; i += sizeof word) {
    memcpy(&word, reader->at + i, sizeof word);
    word ^= key;
    memcpy(to + i, &word, sizeof word);
  }
  for (; i < size; i++) to[i] = reader->at[i] ^ turned[i % sizeof turned];
  reader->at += size;
  reader->left -= size;
  reader->frame_left -= size;
}

static WsEvent take_control(WsReader *reader, size_t size) {
  unmask(reader, reader->control + reader->control_size, size);
  reader->control_size += (uint8_t)size;
  if (reader->frame_left > 0 || opcode_of(reader) == WS_PONG) return NOTHING;
  if (opcode_of(reader) == WS_CLOSE) return end_close(reader);
  return (WsEvent){
      .type = WS_EVENT_PING, .bytes = reader->control, .size = reader->control_size};
}

static WsEvent take_data(WsReader *reader, size_t size) {
  uint8_t *to = buf_reserve(&reader->message, size);
  unmask(reader, to, size);
  reader->message.size += size;
  if (reader->kind == WS_TEXT && !utf8_add(&reader->utf8, to, size))
    return fault(WS_CODE_BAD_TEXT, "a text message that is not UTF-8");
  bool is_end = reader->frame_left == 0 && is_last(reader);
  return is_end ? end_message(reader) : NOTHING;
}

// Reads the available part of the frame's payload.
static WsEvent take_payload(WsReader *reader) {
  size_t size =
      reader->left < reader->frame_left ? reader->left : (size_t)reader->frame_left;
  WsEvent event = is_control(opcode_of(reader)) ? take_control(reader, size)
                                                : take_data(reader, size);
  if (reader->frame_left == 0) {
    reader->is_in_frame = false;
    reader->header_size = 0;
  }
  return event;
}

WsEvent ws_reader_next(WsReader *reader, uint64_t max_message) {
  if (reader->is_handed_up) {
    reader->is_handed_up = false;
    reader->kind = 0;
    reader->message.size = 0;
    if (reader->message.capacity > KEEP_BYTES) buf_deinit(&reader->message);
  }
  for (;;) {
    WsEvent event = NOTHING;
    if (!reader->is_in_frame) event = read_header(reader, max_message);
    if (event.type == WS_EVENT_NONE && reader->is_in_frame)
      event = take_payload(reader);
    if (event.type != WS_EVENT_NONE || reader->left == 0) return event;
  }
}

// --- Writing ---

size_t ws_put_header(uint8_t out[WS_HEADER_MAX], WsOpcode opcode, uint64_t size) {
  size_t bytes = size > UINT16_MAX ? 8 : size >= LENGTH_16 ? 2 : 0;
  out[0] = (uint8_t)(FIN_BIT | opcode);
  out[1] = bytes == 8 ? LENGTH_64 : bytes == 2 ? LENGTH_16 : (uint8_t)size;
  for (size_t i = 0; i < bytes; i++)
    out[2 + i] = (uint8_t)(size >> (8 * (bytes - 1 - i)));
  return 2 + bytes;
}

static void put_frame(Buf *buf, WsOpcode opcode, const void *bytes, size_t size) {
  uint8_t header[WS_HEADER_MAX];
  buf_append(buf, header, ws_put_header(header, opcode, size));
  buf_append(buf, bytes, size);
}

// Returns the size of the longest beginning of `text` that has at most `room` bytes and
// only whole characters.
static size_t fitting(const char *text, size_t room) {
  size_t size = 0, length = strlen(text);
  uint32_t code;
  for (size_t next; size < length; size += next) {
    next = text_read_char(text + size, length - size, &code);
    if (next == 0 || size + next > room) break;
  }
  return size;
}

void ws_put_close(Buf *buf, uint16_t code, const char *text) {
  uint8_t payload[WS_CONTROL_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
  size_t size = text ? fitting(text, sizeof payload - 2) : 0;
  if (size > 0) memcpy(payload + 2, text, size);
  put_frame(buf, WS_CLOSE, payload, code == WS_CODE_NONE ? 0 : 2 + size);
}

void ws_put_text(Buf *buf, const char *text, size_t size) {
  put_frame(buf, WS_TEXT, text, size);
  if (text_is_utf8(text, size)) return;
  char *at = (char *)buf->data + buf->size - size, *end = at + size;
  while (at < end) {
    uint32_t code;
    size_t length = text_read_char(at, (size_t)(end - at), &code);
    if (length == 0) *at = '?';
    at += length ? length : 1;
  }
}

// --- The opening handshake ---

enum { KEY_SIZE = 24, KEY_BYTES = 16 };

bool ws_is_key(Text key) {
  uint8_t bytes[KEY_BYTES + 2];
  if (key.size != KEY_SIZE || key.bytes[KEY_SIZE - 1] != '=' ||
      key.bytes[KEY_SIZE - 2] != '=' || key.bytes[KEY_SIZE - 3] == '=')
    return false;
  return EVP_DecodeBlock(bytes, (const uint8_t *)key.bytes, KEY_SIZE) == sizeof bytes;
}

void ws_accept(Text key, char accept[WS_ACCEPT_SIZE]) {
  static const char GUID[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  uint8_t text[KEY_SIZE + sizeof GUID], sum[SHA_DIGEST_LENGTH];
  memcpy(text, key.bytes, KEY_SIZE);
  memcpy(text + KEY_SIZE, GUID, sizeof GUID);
  SHA1(text, KEY_SIZE + sizeof GUID - 1, sum);
  EVP_EncodeBlock((uint8_t *)accept, sum, sizeof sum);
}

// --- Close codes ---

uint16_t ws_close_code(Code code, bool has_text) {
  switch (code) {
    case CODE_CLOSED:
      return has_text ? WS_CODE_GOING_AWAY : WS_CODE_NORMAL;
    case CODE_PROTOCOL:
      return WS_CODE_PROTOCOL;
    case CODE_PAYLOAD_TOO_LARGE:
      return WS_CODE_TOO_LARGE;
    case CODE_INTERNAL:
      return WS_CODE_INTERNAL;
    case CODE_SERVER_FULL:
    case CODE_UNAVAILABLE:
      return WS_CODE_TRY_LATER;
    default:
      return (uint16_t)(WS_CODE_OWN + code);
  }
}

bool ws_is_close_code(uint16_t code) {
  if (code >= 1000 && code <= 1014) return code < 1004 || code > 1006;
  return code >= 3000 && code <= 4999;
}
