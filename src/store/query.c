// See query.h. The bytes of a query are integers as on the wire; a text has its size
// before it, as u32.
#include "store/query.h"

static void write_text(Buf *bytes, Text text) {
  buf_u32(bytes, text.size);
  buf_append(bytes, text.bytes, text.size);
}

static void write_value(Buf *bytes, const StoreValue *value) {
  uint64_t bits;
  memcpy(&bits, &value->number, sizeof bits);
  buf_u8(bytes, value->type);
  buf_u64(bytes, bits);
  write_text(bytes, value->text);
}

static Text read_text(Reader *reader) {
  uint32_t size = reader_u32(reader);
  const char *bytes = (const char *)reader_bytes(reader, size);
  return (Text){bytes, bytes != NULL ? size : 0};
}

static StoreValue read_value(Reader *reader) {
  StoreValue value = {.type = reader_u8(reader)};
  uint64_t bits = reader_u64(reader);
  memcpy(&value.number, &bits, sizeof bits);
  value.text = read_text(reader);
  return value;
}

void store_query_write(const StoreQuery *query, Buf *bytes) {
  buf_u32(bytes, query->collection);
  buf_u8(bytes, query->is_count);
  buf_u32(bytes, (uint32_t)query->order);
  buf_u32(bytes, query->limit);
  buf_u32(bytes, query->count);
  for (uint32_t i = 0; i < query->count; i++) {
    buf_u32(bytes, query->conditions[i].field);
    buf_u8(bytes, query->conditions[i].op);
    write_value(bytes, &query->conditions[i].value);
  }
  write_text(bytes, query->after);
}

bool store_query_read(Text bytes, StoreQuery *query) {
  Reader reader = reader_of(bytes.bytes, bytes.size);
  *query = (StoreQuery){.collection = reader_u32(&reader)};
  query->is_count = reader_u8(&reader) != 0;
  query->order = (int32_t)reader_u32(&reader);
  query->limit = reader_u32(&reader);
  query->count = reader_u32(&reader);
  if (query->count > STORE_CONDITIONS_MAX) return false;
  for (uint32_t i = 0; i < query->count; i++) {
    StoreCondition *condition = &query->conditions[i];
    condition->field = reader_u32(&reader);
    condition->op = reader_u8(&reader);
    condition->value = read_value(&reader);
  }
  query->after = read_text(&reader);
  return reader_is_done(&reader);
}
