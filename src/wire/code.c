// The names of codes, from the list in code.h.
#include "wire/code.h"

const char *code_name(Code code) {
  switch (code) {
#define X(constant, number, name) \
  case constant:                  \
    return name;
    CODE_MAP(X)
#undef X
  }
  return "Unknown";
}
