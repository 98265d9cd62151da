// A record consists of a StoreStep, its id and its value, and is padded so that the next
// StoreStep is aligned.
#include "store/unit.h"

static size_t whole_size(const StoreStep *step) {
  return buf_padded(sizeof *step + step->id.size + step->value.size);
}

void unit_push(StoreUnit *unit, const StoreStep *step) {
  uint8_t *at = buf_reserve(unit, whole_size(step));
  memcpy(at, step, sizeof *step);
  at += sizeof *step;
  if (step->id.size > 0) memcpy(at, step->id.bytes, step->id.size);
  at += step->id.size;
  if (step->value.size > 0) memcpy(at, step->value.bytes, step->value.size);
  unit->size += whole_size(step);
}

bool unit_next(const StoreUnit *unit, size_t *at, StoreStep *step) {
  if (*at >= unit->size) return false;
  const uint8_t *record = unit->data + *at;
  memcpy(step, record, sizeof *step);
  step->id.bytes = (const char *)record + sizeof *step;
  step->value.bytes = step->id.bytes + step->id.size;
  *at += whole_size(step);
  return true;
}
