// Integers in memory as they are on the wire, little-endian. Each takes one load or store.
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

/// Write a value and return the place behind it.
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

/// Read a value.
static inline uint16_t get_u16(const uint8_t *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return le16toh(value);
}

static inline uint32_t get_u32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return le32toh(value);
}

static inline uint64_t get_u64(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return le64toh(value);
}
