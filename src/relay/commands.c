// A record consists of a Command, its exceptions, its name, its body and its packed
// form. Its size is rounded up so that the next Command is aligned.

#include "relay/commands.h"

#include <string.h>

enum {
  KEEP_BYTES = 4 << 20
};  // memory that stays allocated when all commands are
    // removed

static size_t except_bytes(const Command *command) {
  return command->except_count * sizeof *command->except;
}

// Returns the size of a record, which has a NUL after name and body.
static size_t whole_size(const Command *command) {
  return buf_padded(sizeof *command + except_bytes(command) + command->name.size + 1 +
                    command->body.size + 1 + command->packed.size);
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t size) {
  if (size > 0) memcpy(at, bytes, size);
  return at + size;
}

void commands_push(Commands *commands, const Command *command) {
  size_t whole = whole_size(command);
  uint8_t *at = buf_reserve(commands, whole);
  at = put(at, command, sizeof *command);
  at = put(at, command->except, except_bytes(command));
  at = put(at, command->name.bytes, command->name.size);
  *at++ = '\0';
  at = put(at, command->body.bytes, command->body.size);
  *at++ = '\0';
  put(at, command->packed.bytes, command->packed.size);
  commands->size += whole;
}

bool commands_next(const Commands *commands, size_t *at, Command *command) {
  if (*at >= commands->size) return false;
  const uint8_t *record = commands->data + *at;
  memcpy(command, record, sizeof *command);
  record += sizeof *command;
  command->except = (const uint32_t *)(const void *)record;
  record += except_bytes(command);
  command->name.bytes = (const char *)record;
  record += command->name.size + 1;
  command->body.bytes = (const char *)record;
  record += command->body.size + 1;
  command->packed.bytes = (const char *)record;
  *at += whole_size(command);
  return true;
}

void commands_cut(Commands *commands, size_t size) {
  commands->size = size;
  if (size == 0 && commands->capacity > KEEP_BYTES) buf_deinit(commands);
}
