// Writes integers little-endian, as on the wire, with one store each. Each function returns
// the place behind what it wrote.
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *put_u8(uint8_t *at, uint8_t value) {
  *at = value;
  return at + 1;
}

static inline uint8_t *put_u16(uint8_t *at, uint16_t value) {
  value = htole16(value);
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

static inline uint8_t *put_u32(uint8_t *at, uint32_t value) {
  value = htole32(value);
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

static inline uint8_t *put_u64(uint8_t *at, uint64_t value) {
  value = htole64(value);
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}
