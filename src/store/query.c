// See query.h. A query in bytes consists of integers in the order of the wire. Each
// text follows its size, a u32.
#include "store/query.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/least.h"
#include "store/backend.h"
#include "wire/json.h"

enum {
  NAME_SIZE_MAX = 48,
  NUMBER_SIZE = 64,  // bytes of a number as text, with its end
  BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING
};

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

bool store_is_name(const char *name) {
  static const char ALLOWED[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  size_t size = strlen(name);
  return size > 0 && size <= NAME_SIZE_MAX && strspn(name, ALLOWED) == size;
}

// --- Cursors ---

// Returns a hash of everything that all pages of one find have in common.
static uint64_t shape_of(const StoreQuery *query) {
  StoreQuery shape = *query;
  Buf bytes = {0};
  shape.after = (Text){0};
  shape.collection = shape.limit = 0;
  store_query_write(&shape, &bytes);
  uint64_t hash = hash_bytes(NULL, bytes.data, bytes.size);
  buf_deinit(&bytes);
  return hash;
}

void store_cursor_write(const StoreQuery *query, const BackendRow *row, Buf *cursor) {
  Buf bytes = {0};
  buf_u64(&bytes, shape_of(query));
  write_value(&bytes, &row->order);
  write_text(&bytes, row->id);
  size_t size = sodium_base64_encoded_len(bytes.size, BASE64);
  cursor->size = 0;
  buf_reserve(cursor, size);
  sodium_bin2base64((char *)cursor->data, size, bytes.data, bytes.size, BASE64);
  cursor->size = size - 1;  // leaves out the NUL
  buf_deinit(&bytes);
}

StoreCode store_cursor_read(const StoreQuery *query, Buf *bytes,
                            StorePosition *position, StoreFault *fault) {
  *position = (StorePosition){0};
  if (query->after.size == 0) return STORE_OK;
  bytes->size = 0;
  buf_reserve(bytes, query->after.size);
  int err = sodium_base642bin(bytes->data, query->after.size, query->after.bytes,
                              query->after.size, NULL, &bytes->size, NULL, BASE64);
  Reader reader = reader_of(bytes->data, err == 0 ? bytes->size : 0);
  uint64_t shape = reader_u64(&reader);
  position->value = read_value(&reader);
  position->id = read_text(&reader);
  bool is_ours = reader_is_done(&reader) && shape == shape_of(query) &&
                 position->id.size > 0 && position->value.type <= STORE_NONE;
  if (is_ours) return STORE_OK;
  return store_fault(
      fault, STORE_INVALID,
      "`after` is no cursor of a find with these conditions and this order");
}

// --- Values ---

static StoreValue read_number(Text text) {
  char number[NUMBER_SIZE];
  size_t size = least(text.size, sizeof number - 1);
  memcpy(number, text.bytes, size);
  number[size] = '\0';
  return (StoreValue){.type = STORE_NUMBER, .number = strtod(number, NULL)};
}

static StoreValue read_json(Text json, Buf *bytes) {
  size_t start = bytes->size;
  switch (json.bytes[0]) {
    case '"':
      json_read_text(json, bytes);
      return (StoreValue){
          .type = STORE_TEXT,
          .text = {(const char *)bytes->data + start, (uint32_t)(bytes->size - start)}};
    case 't':
    case 'f':
      return (StoreValue){.type = STORE_BOOLEAN, .number = json.bytes[0] == 't'};
    case 'n':
    case '[':
    case '{':
      return (StoreValue){.type = STORE_NONE};
    default:
      return read_number(json);
  }
}

StoreValue store_field(Text json, const char *field, Buf *bytes) {
  Text key, value;
  Text object = json_trim(json), name = text_from(field);
  if (object.size == 0 || object.bytes[0] != '{')
    return (StoreValue){.type = STORE_NONE};
  for (uint32_t at = 0; json_next(object, &at, &key, &value);) {
    Text inner = {key.bytes + 1, key.size - 2};  // without quotes
    if (text_equals(inner, name)) return read_json(value, bytes);
  }
  return (StoreValue){.type = STORE_NONE};
}

int store_compare(const StoreValue *a, const StoreValue *b) {
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  if (a->type == STORE_TEXT) {
    uint32_t size = (uint32_t)least(a->text.size, b->text.size);
    int order = size > 0 ? memcmp(a->text.bytes, b->text.bytes, size) : 0;
    return order != 0 ? order
                      : (a->text.size > b->text.size) - (a->text.size < b->text.size);
  }
  return (a->number > b->number) - (a->number < b->number);
}

bool store_satisfies(const StoreCondition *condition, const StoreValue *value) {
  if (value->type != condition->value.type) return false;
  int order = store_compare(value, &condition->value);
  switch ((StoreOp)condition->op) {
    case STORE_EQ:
      return order == 0;
    case STORE_LT:
      return order < 0;
    case STORE_LE:
      return order <= 0;
    case STORE_GT:
      return order > 0;
    case STORE_GE:
      return order >= 0;
  }
  return false;
}
