// The reason why the store could not do something.
#pragma once

/// The outcome of a call of the store. Scripts get the names as codes.
typedef enum StoreCode {
  STORE_OK,
  STORE_CONFLICT,     // "Conflict": another write came first
  STORE_UNAVAILABLE,  // "Unavailable": the disk or the other server does not work now
  STORE_FULL,         // "Unavailable": the disk is full; the next write may succeed
  STORE_DAMAGED,      // "Unavailable": the file is damaged
  STORE_TOO_LARGE,    // "TooLarge"
  STORE_SLOW,         // "SlowStore": too many writes wait
  STORE_INVALID,      // "Invalid": the statement of perigee.store.sql is wrong
  STORE_LATE,         // "Timeout": the statement took longer than its deadline
} StoreCode;

/// A code and one sentence without full stop.
typedef struct StoreFault {
  StoreCode code;
  char text[240];
} StoreFault;

/// Sets the fault, and returns its code.
StoreCode store_fault(StoreFault *fault, StoreCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Returns the code's name for scripts; static.
const char *store_code_name(StoreCode code);
