// HTTP requests to other servers. libcurl (curl.h) makes them on a separate thread,
// which resolves names, connects and reads. The loop gets whole answers. The caller
// decides which servers may get requests. Therefore the fetcher follows no redirects
// and uses no proxies. It keeps no cookies.
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "wire/code.h"
#include "wire/reader.h"

typedef struct Fetcher Fetcher;
typedef struct Loop Loop;

enum {
  FETCH_RUNNING_MAX = 32,           // running requests, plus answers not taken yet
  FETCH_QUEUED_MAX = 256,           // requests that wait until they may run
  FETCH_REQUESTS_MAX = 16 << 20,    // bytes of the heads and bodies of all requests
  FETCH_ANSWER_HEAD_MAX = 64 << 10  // bytes of an answer's header fields
};

typedef struct FetchStart {
  uint32_t token;
  Text head;  // method, URL and header fields ("Name: value"), a NUL after each; copied
  const Text *body;     // NULL: none; copied
  uint32_t timeout_ms;  // time until the answer is complete, including the queue
  size_t answer_max;    // limit of the answer's body, in bytes
} FetchStart;

/// Reports the end of a request. If `code` is 0, fetcher_take provides the answer;
/// otherwise `text` is the reason of the failure. A request that takes longer than its
/// timeout is dropped without a report. fetcher_start may call this before it returns.
typedef void FetchEnd(void *data, uint32_t token, Code code, const char *text);

/// The answer to a request. The owner of the struct frees the Buf.
typedef struct FetchAnswer {
  uint32_t status;
  size_t head_size;  // bytes of status line and header fields, with their line ends
  Buf bytes;         // status line and header fields, then the body
} FetchAnswer;

/// Creates a fetcher, whose thread starts with the first request. Does not keep the
/// loop running.
Fetcher *fetcher_open(Loop *loop, FetchEnd *on_end, void *data);

/// Ends all requests without a report. The thread ends later, at the latest in
/// workers_end. NULL is allowed.
void fetcher_close(Fetcher *fetcher);

/// Starts a request, or queues it.
void fetcher_start(Fetcher *fetcher, const FetchStart *start);

/// Moves the answer to a zeroed FetchAnswer. Call it for each answer, because an answer
/// that is not taken counts as a running request.
void fetcher_take(Fetcher *fetcher, uint32_t token, FetchAnswer *answer);
