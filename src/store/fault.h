// Reasons why a call of the store failed.
#pragma once

#include <stdbool.h>

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
  STORE_BUSY,   // "Unavailable": another program locks the file, or the other server
                // is gone; the store tries again
  STORE_AGAIN,  // "Conflict": another server wrote at the same time; the store repeats
                // the transaction at once
  STORE_NEWER,  // "VersionMismatch": a later version of the game wrote the document
  STORE_UNKNOWN,  // "Unavailable": whether the commit has happened is unknown
  STORE_CODES     // number of codes
} StoreCode;

/// A code and one sentence without full stop.
typedef struct StoreFault {
  StoreCode code;
  char text[240];
} StoreFault;

/// Sets the fault, and returns its code.
StoreCode store_fault(StoreFault *fault, StoreCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Returns whether the code means a failure of the disk or of the other server, which
/// loses the whole transaction.
static inline bool store_is_of_disk(StoreCode code) {
  return code == STORE_UNAVAILABLE || code == STORE_FULL || code == STORE_DAMAGED ||
         code == STORE_BUSY || code == STORE_AGAIN || code == STORE_UNKNOWN;
}

/// Returns the code's name for scripts; static.
const char *store_code_name(StoreCode code);
