// Payloads of the control channel. Fields are in the order of docs/protocol.md.
#include "wire/control.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"

static Reader payload_of(const Packet *packet) {
  return reader_of(packet->payload, packet->length);
}

static int finish(const Reader *reader) {
  return reader_is_done(reader) ? 0 : ERR_MALFORMED;
}

int control_read_hello(const Packet *packet, Hello *hello) {
  Reader reader = payload_of(packet);
  hello->version = reader_u16(&reader);
  hello->protocol_hash = reader_u64(&reader);
  hello->name = reader_str8(&reader);
  hello->token = reader_str16(&reader);
  hello->resume_token = reader_bytes(&reader, UUID_SIZE);
  hello->reliable_received = reader_u32(&reader);
  return finish(&reader);
}

int control_read_name(const Packet *packet, Text *name) {
  Reader reader = payload_of(packet);
  *name = reader_str8(&reader);
  return finish(&reader);
}

int control_read_name_rest(const Packet *packet, Text *name, Text *rest) {
  Reader reader = payload_of(packet);
  *name = reader_str8(&reader);
  rest->size = (uint32_t)reader_left(&reader);
  rest->bytes = (const char *)reader_bytes(&reader, rest->size);
  return finish(&reader);
}

int control_read_u32(const Packet *packet, uint32_t *value) {
  Reader reader = payload_of(packet);
  *value = reader_u32(&reader);
  return finish(&reader);
}

int control_read_u16(const Packet *packet, uint16_t *value) {
  Reader reader = payload_of(packet);
  *value = reader_u16(&reader);
  return finish(&reader);
}

int control_read_u64(const Packet *packet, uint64_t *value) {
  Reader reader = payload_of(packet);
  *value = reader_u64(&reader);
  return finish(&reader);
}

int control_read_empty(const Packet *packet) {
  return packet->length == 0 ? 0 : ERR_MALFORMED;
}

int control_read_room_data(const Packet *packet, uint32_t *room, Text *data) {
  Reader reader = payload_of(packet);
  *room = reader_u32(&reader);
  data->size = (uint32_t)reader_left(&reader);
  data->bytes = (const char *)reader_bytes(&reader, data->size);
  return finish(&reader);
}

void control_welcome(Buf *buf, const Welcome *welcome) {
  static const uint8_t NO_KEY[WELCOME_KEY_SIZE];
  buf_u16(buf, PROTOCOL_VERSION);
  buf_u32(buf, welcome->peer);
  buf_append(buf, welcome->session, UUID_SIZE);
  buf_append(buf, welcome->resume_token, UUID_SIZE);
  buf_u64(buf, welcome->server_time_us);
  buf_u32(buf, welcome->max_payload);
  buf_u32(buf, welcome->ping_interval_ms);
  buf_u16(buf, welcome->tick_rate);
  buf_u8(buf, welcome->resumed);
  buf_u32(buf, welcome->reliable_received);
  buf_u16(buf, welcome->udp_port);
  buf_append(buf, welcome->udp_key ? welcome->udp_key : NO_KEY, WELCOME_KEY_SIZE);
}

void control_peer_renamed(Buf *buf, uint32_t room, uint32_t peer, Text name) {
  buf_u32(buf, room);
  buf_u32(buf, peer);
  buf_str8(buf, name.bytes, name.size);
}

void control_code_text(Buf *buf, Code code, const char *text) {
  buf_u16(buf, (uint16_t)code);
  buf_str16(buf, text, strlen(text));
}

void control_fault(Buf *buf, const Fault *fault) {
  buf_str8(buf, fault->code.bytes, fault->code.size);
  buf_append(buf, fault->json.bytes, fault->json.size);
}

void control_ending(Buf *buf, const Ending *ending) {
  control_code_text(buf, ending->code, ending->text);
  if (ending->code == CODE_UNAVAILABLE) buf_u16(buf, ending->retry_s);
}

void control_dev_asset(Buf *buf, const char *path) {
  buf_str8(buf, path, strlen(path));
}

void control_dev_error(Buf *buf, const char *text) {
  buf_str16(buf, text, text_cut(text, strlen(text), CONTROL_DEV_ERROR_MAX));
}
