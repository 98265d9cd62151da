// Requests over HTTP to other servers, by libcurl (curl.h) on a thread of its own. The
// thread resolves names, connects and reads; the loop gets whole answers. The caller
// decides which servers may be asked: nothing here follows redirects, uses proxies or
// keeps cookies.
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "wire/code.h"
#include "wire/reader.h"

typedef struct Fetcher Fetcher;
typedef struct Loop Loop;

enum {
  FETCH_RUNNING_MAX = 32,           // requests that run, and answers not taken yet
  FETCH_QUEUED_MAX = 256,           // requests that wait for one of these to end
  FETCH_REQUESTS_MAX = 16 << 20,    // bytes of all requests
  FETCH_ANSWER_HEAD_MAX = 64 << 10  // bytes of an answer's header fields
};

typedef struct FetchStart {
  uint32_t token;
  Text head;  // method, URL and header fields ("Name: value"), a NUL after each; copied
  const Text *body;     // NULL: none; copied
  uint32_t timeout_ms;  // time until the answer is complete, with the wait for its turn
  size_t answer_max;    // bytes of the answer's body
} FetchStart;

/// Reports the end of a request. With `code` 0, fetcher_take returns its answer;
/// otherwise `text` says why it has none. A request that takes longer than its timeout
/// is dropped without a report. May be called within fetcher_start.
typedef void FetchEnd(void *data, uint32_t token, Code code, const char *text);

/// The answer to a request. The owner of the struct frees the Buf.
typedef struct FetchAnswer {
  uint32_t status;
  size_t head_size;  // bytes of status line and header fields, with their line ends
  Buf bytes;         // these, then the body
} FetchAnswer;

/// Creates a fetcher, whose thread starts with the first request. Does not keep the loop
/// running.
Fetcher *fetcher_open(Loop *loop, FetchEnd *on_end, void *data);

/// Ends all requests without a report. workers_end waits for the thread. NULL is
/// allowed.
void fetcher_close(Fetcher *fetcher);

/// Starts a request, or queues it.
void fetcher_start(Fetcher *fetcher, const FetchStart *start);

/// Moves the answer to a zeroed FetchAnswer. Call it once for each answer, because
/// another request can run only then.
void fetcher_take(Fetcher *fetcher, uint32_t token, FetchAnswer *answer);
