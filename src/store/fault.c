// See fault.h.
#include "store/fault.h"

#include <stdarg.h>
#include <stdio.h>

StoreCode store_fault(StoreFault *fault, StoreCode code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault->text, sizeof fault->text, format, arguments);
  va_end(arguments);
  fault->code = code;
  return code;
}

const char *store_code_name(StoreCode code) {
  switch (code) {
    case STORE_OK:
      return "";
    case STORE_CONFLICT:
    case STORE_AGAIN:
      return "Conflict";
    case STORE_UNAVAILABLE:
    case STORE_FULL:
    case STORE_DAMAGED:
    case STORE_BUSY:
    case STORE_UNKNOWN:
      return "Unavailable";
    case STORE_TOO_LARGE:
      return "TooLarge";
    case STORE_SLOW:
      return "SlowStore";
    case STORE_INVALID:
      return "Invalid";
    case STORE_LATE:
      return "Timeout";
    case STORE_NEWER:
      return "VersionMismatch";
    case STORE_CODES:
      break;
  }
  return "";
}
