// See fetch.h. A Fetch is in one list at a time, and the list determines who may use
// the Fetch. The loop and the thread share `queued` and `ended`, which the lock
// protects. Only the thread uses `taken`. Only the loop uses `answered`.
#include "os/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/mem.h"
#include "os/bell.h"
#include "os/curl.h"
#include "os/worker.h"

typedef struct Fetch {
  struct Fetch *next;
  uint32_t token;
  uint64_t due_ms;  // deadline of the request, by now_ms
  Buf head;         // head of the request; see FetchStart
  Buf body;
  bool has_body;
  size_t answer_max;
  size_t field_bytes;  // bytes of all heads and trailers of the answer so far
  CurlEasy *easy;
  CurlFields *fields;
  FetchAnswer answer;
  bool is_too_large;  // the answer is larger than allowed
  bool is_late;       // the timeout has passed
  Code code;          // code of the failure; 0: the request has not failed
  char problem[CURL_ERROR_SIZE];
} Fetch;

typedef struct FetchList {
  Fetch *first, *last;
} FetchList;

struct Fetcher {
  Loop *loop;
  FetchEnd *on_end;
  void *data;
  Bell *bell;  // bell for the loop; rings when `ended` gets a request
  bool has_thread;
  uint32_t count;      // number of requests that exist; see forget()
  size_t bytes;        // bytes of all requests that exist
  FetchList answered;  // requests whose answers wait for fetcher_take
  uv_mutex_t lock;     // protects all fields below
  FetchList queued;
  FetchList ended;
  uint32_t running;  // number of requests in `taken`, plus answers that fetcher_take
                     // has not moved
  const Curl *curl;  // library; NULL: the thread has not loaded it
  CurlMulti *multi;
  bool is_closed;
};

static uint64_t now_ms(void) { return uv_hrtime() / 1000000; }

// --- Lists ---

static void push(FetchList *list, Fetch *fetch) {
  fetch->next = NULL;
  if (list->last != NULL)
    list->last->next = fetch;
  else
    list->first = fetch;
  list->last = fetch;
}

static Fetch *pop(FetchList *list) {
  Fetch *fetch = list->first;
  if (fetch == NULL) return NULL;
  list->first = fetch->next;
  if (list->first == NULL) list->last = NULL;
  return fetch;
}

// Removes and returns the request with the handle `easy` or, if `easy` is NULL, the
// request with this token. Returns NULL if the list has no such request.
static Fetch *take(FetchList *list, uint32_t token, const CurlEasy *easy) {
  Fetch *found = NULL;
  FetchList left = {0};
  for (Fetch *fetch; (fetch = pop(list)) != NULL;) {
    if (found == NULL && (easy != NULL ? fetch->easy == easy : fetch->token == token))
      found = fetch;
    else
      push(&left, fetch);
  }
  *list = left;
  return found;
}

static size_t fetch_size(const Fetch *fetch) {
  return fetch->head.size + fetch->body.size;
}

static void fetch_free(Fetch *fetch) {
  buf_deinit(&fetch->head);
  buf_deinit(&fetch->body);
  buf_deinit(&fetch->answer.bytes);
  mem_free(fetch);
}

static void free_all(FetchList *list) {
  for (Fetch *fetch; (fetch = pop(list)) != NULL;) fetch_free(fetch);
}

// --- The thread ---

static void fail(Fetch *fetch, Code code, const char *text) {
  fetch->code = code;
  if (text != fetch->problem)
    snprintf(fetch->problem, sizeof fetch->problem, "%s", text);
}

// Passes an ended request to the loop. Does not ring the bell of a closed fetcher,
// because fetcher_close closes the bell.
static void hand_over(Fetcher *fetcher, Fetch *fetch) {
  uv_mutex_lock(&fetcher->lock);
  if (fetch->is_late || fetch->code != 0) fetcher->running--;
  push(&fetcher->ended, fetch);
  if (!fetcher->is_closed) bell_ring(fetcher->bell);
  uv_mutex_unlock(&fetcher->lock);
}

// Drops the heads of 1xx answers, and the trailers that follow the body. Counts their
// bytes against the limit nevertheless, because libcurl keeps trailers in memory.
static size_t on_field(char *bytes, size_t size, size_t count, void *data) {
  Fetch *fetch = data;
  FetchAnswer *answer = &fetch->answer;
  size *= count;
  fetch->is_too_large = size > FETCH_ANSWER_HEAD_MAX - fetch->field_bytes;
  if (fetch->is_too_large) return 0;
  fetch->field_bytes += size;
  if (answer->bytes.size > answer->head_size) return size;
  if (size >= 5 && memcmp(bytes, "HTTP/", 5) == 0) answer->bytes.size = 0;
  buf_append(&answer->bytes, bytes, size);
  answer->head_size = answer->bytes.size;
  return size;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data) {
  Fetch *fetch = data;
  size *= count;
  FetchAnswer *answer = &fetch->answer;
  fetch->is_too_large =
      size > fetch->answer_max - (answer->bytes.size - answer->head_size);
  if (fetch->is_too_large) return 0;
  buf_append(&answer->bytes, bytes, size);
  return size;
}

static void set_options(const Curl *curl, Fetch *fetch, uint64_t left_ms) {
  CurlEasy *easy = fetch->easy;
  const char *method = (const char *)fetch->head.data;
  const char *end = method + fetch->head.size;
  const char *url = method + strlen(method) + 1;
  for (const char *at = url + strlen(url) + 1; at < end; at += strlen(at) + 1)
    fetch->fields = curl->slist_append(fetch->fields, at);
  curl->easy_setopt(easy, CURL_PRIVATE, fetch);
  curl->easy_setopt(easy, CURL_URL, url);
  curl->easy_setopt(easy, CURL_PROTOCOLS, (long)CURL_HTTP_AND_HTTPS);
  curl->easy_setopt(easy, CURL_PROXY, "");  // no proxy, not even the environment's
  if (getenv("SSL_CERT_FILE"))
    curl->easy_setopt(easy, CURL_CA_FILE, getenv("SSL_CERT_FILE"));
  curl->easy_setopt(easy, CURL_NOSIGNAL, 1L);
  curl->easy_setopt(easy, CURL_QUICK_EXIT, 1L);  // the end waits for no name server
  curl->easy_setopt(easy, CURL_TIMEOUT_MS, (long)left_ms);
  curl->easy_setopt(easy, CURL_ERROR_TEXT, fetch->problem);
  curl->easy_setopt(easy, CURL_HEADERS, fetch->fields);
  curl->easy_setopt(easy, CURL_ON_HEADER, on_field);
  curl->easy_setopt(easy, CURL_HEADER_DATA, fetch);
  curl->easy_setopt(easy, CURL_ON_BODY, on_body);
  curl->easy_setopt(easy, CURL_WRITE_DATA, fetch);
  if (fetch->has_body) {
    curl->easy_setopt(easy, CURL_POST_SIZE, (int64_t)fetch->body.size);
    curl->easy_setopt(easy, CURL_POST_FIELDS,
                      fetch->body.size > 0 ? (const char *)fetch->body.data : "");
  }
  if (strcmp(method, "HEAD") == 0)
    curl->easy_setopt(easy, CURL_NOBODY, 1L);
  else
    curl->easy_setopt(easy, CURL_METHOD, method);
}

// Starts a request. Returns false if it has failed or its deadline has passed.
static bool begin(Fetcher *fetcher, Fetch *fetch) {
  const Curl *curl = fetcher->curl;
  uint64_t now = now_ms();
  fetch->is_late = now >= fetch->due_ms;
  if (fetch->is_late) return false;
  fetch->easy = curl->easy_init();
  if (fetch->easy == NULL) {
    fail(fetch, CODE_INTERNAL, "libcurl cannot make a request");
    return false;
  }
  set_options(curl, fetch, fetch->due_ms - now);
  if (curl->multi_add_handle(fetcher->multi, fetch->easy) == 0) return true;
  curl->easy_cleanup(fetch->easy);
  curl->slist_free_all(fetch->fields);
  fail(fetch, CODE_INTERNAL, "libcurl cannot begin a request");
  return false;
}

static void judge(const Curl *curl, Fetch *fetch, int result) {
  const char *text =
      fetch->problem[0] != '\0' ? fetch->problem : curl->easy_strerror(result);
  if (fetch->is_too_large) {
    fail(fetch, CODE_PAYLOAD_TOO_LARGE, "the answer is larger than http_max_bytes");
    return;
  }
  switch (result) {
    case CURL_OK: {
      long status = 0;
      curl->easy_getinfo(fetch->easy, CURL_INFO_STATUS, &status);
      fetch->answer.status = (uint32_t)status;
      break;
    }
    case CURL_TIMED_OUT:
      fetch->is_late = true;
      break;
    case CURL_NOT_HTTP:
    case CURL_BAD_ANSWER:
    case CURL_HTTP2_FAILED:
    case CURL_HTTP2_STREAM_FAILED:
      fail(fetch, CODE_PROTOCOL, text);
      break;
    default:
      fail(fetch, CODE_UNAVAILABLE, text);
  }
}

static void release(const Fetcher *fetcher, Fetch *fetch) {
  fetcher->curl->multi_remove_handle(fetcher->multi, fetch->easy);
  fetcher->curl->easy_cleanup(fetch->easy);
  fetcher->curl->slist_free_all(fetch->fields);
}

static void finish_some(Fetcher *fetcher, FetchList *taken) {
  int left;
  for (const CurlMessage *message;
       (message = fetcher->curl->multi_info_read(fetcher->multi, &left)) != NULL;) {
    if (message->type != CURL_MESSAGE_DONE) continue;
    Fetch *fetch = take(taken, 0, message->easy);
    judge(fetcher->curl, fetch, message->data.result);
    release(fetcher, fetch);
    hand_over(fetcher, fetch);
  }
}

// Removes and returns the next request that may run, or returns NULL. Stores in
// `is_closed` whether the fetcher is closed.
static Fetch *next_queued(Fetcher *fetcher, bool *is_closed) {
  uv_mutex_lock(&fetcher->lock);
  bool may_run = fetcher->running < FETCH_RUNNING_MAX && !fetcher->is_closed;
  Fetch *fetch = may_run ? pop(&fetcher->queued) : NULL;
  if (fetch != NULL) fetcher->running++;
  *is_closed = fetcher->is_closed;
  uv_mutex_unlock(&fetcher->lock);
  return fetch;
}

// Serves requests until the fetcher is closed.
static void serve(Fetcher *fetcher) {
  enum { POLL_MS = 60000 };
  const Curl *curl = fetcher->curl;
  FetchList taken = {0};
  for (bool is_closed = false; !is_closed;) {
    for (Fetch *fetch; (fetch = next_queued(fetcher, &is_closed)) != NULL;) {
      if (begin(fetcher, fetch))
        push(&taken, fetch);
      else
        hand_over(fetcher, fetch);
    }
    if (is_closed) break;
    int running;
    curl->multi_perform(fetcher->multi, &running);
    finish_some(fetcher, &taken);
    curl->multi_poll(fetcher->multi, NULL, 0, POLL_MS, NULL);
  }
  for (Fetch *fetch; (fetch = pop(&taken)) != NULL; fetch_free(fetch))
    release(fetcher, fetch);
}

// Fails all queued requests, because the library is missing.
static void refuse_all(Fetcher *fetcher) {
  bool is_closed;
  for (Fetch *fetch; (fetch = next_queued(fetcher, &is_closed)) != NULL;) {
    fail(fetch, CODE_UNSUPPORTED,
         "perigee.http needs libcurl; install Debian's package libcurl4");
    hand_over(fetcher, fetch);
  }
}

static void run(void *data) {
  Fetcher *fetcher = data;
  const Curl *curl = curl_load();
  CurlMulti *multi = curl != NULL ? curl->multi_init() : NULL;
  if (multi == NULL) {
    refuse_all(fetcher);
    return;
  }
  uv_mutex_lock(&fetcher->lock);
  fetcher->curl = curl;
  fetcher->multi = multi;
  uv_mutex_unlock(&fetcher->lock);
  serve(fetcher);
  uv_mutex_lock(&fetcher->lock);
  fetcher->multi = NULL;
  uv_mutex_unlock(&fetcher->lock);
  curl->multi_cleanup(multi);
}

// --- The loop ---

static void forget(Fetcher *fetcher, Fetch *fetch) {
  fetcher->count--;
  fetcher->bytes -= fetch_size(fetch);
  fetch_free(fetch);
}

static void on_bell(void *data) {
  Fetcher *fetcher = data;
  uv_mutex_lock(&fetcher->lock);
  FetchList ended = fetcher->ended;
  fetcher->ended = (FetchList){0};
  uv_mutex_unlock(&fetcher->lock);
  for (Fetch *fetch; (fetch = pop(&ended)) != NULL;) {
    if (!fetch->is_late)
      fetcher->on_end(fetcher->data, fetch->token, fetch->code, fetch->problem);
    if (!fetch->is_late && fetch->code == 0)
      push(&fetcher->answered, fetch);
    else
      forget(fetcher, fetch);
  }
}

static void fetcher_free(Fetcher *fetcher) {
  free_all(&fetcher->queued);
  free_all(&fetcher->ended);
  free_all(&fetcher->answered);
  uv_mutex_destroy(&fetcher->lock);
  mem_free(fetcher);
}

static void start_thread(Fetcher *fetcher);

// Starts the thread again if requests came after the thread had found no library and
// refused the earlier ones.
static void on_thread_end(void *data) {
  Fetcher *fetcher = data;
  fetcher->has_thread = false;
  if (fetcher->is_closed)
    fetcher_free(fetcher);
  else if (fetcher->queued.first != NULL)
    start_thread(fetcher);
}

static void start_thread(Fetcher *fetcher) {
  fetcher->has_thread =
      worker_start(fetcher->loop, run, on_thread_end, fetcher) != NULL;
  if (fetcher->has_thread) return;
  for (Fetch *fetch; (fetch = pop(&fetcher->queued)) != NULL;) {
    fetcher->on_end(fetcher->data, fetch->token, CODE_INTERNAL,
                    "the system cannot create a thread");
    forget(fetcher, fetch);
  }
}

Fetcher *fetcher_open(Loop *loop, FetchEnd *on_end, void *data) {
  Fetcher *fetcher = mem_zalloc(sizeof *fetcher);
  fetcher->loop = loop;
  fetcher->on_end = on_end;
  fetcher->data = data;
  fetcher->bell = bell_open(loop, on_bell, fetcher);
  uv_mutex_init(&fetcher->lock);
  return fetcher;
}

// Wakes the thread. The caller must hold the lock.
static void wake(const Fetcher *fetcher) {
  if (fetcher->multi != NULL) fetcher->curl->multi_wakeup(fetcher->multi);
}

void fetcher_close(Fetcher *fetcher) {
  if (fetcher == NULL) return;
  uv_mutex_lock(&fetcher->lock);
  fetcher->is_closed = true;
  wake(fetcher);
  uv_mutex_unlock(&fetcher->lock);
  bell_close(fetcher->bell);
  if (!fetcher->has_thread) fetcher_free(fetcher);
}

void fetcher_start(Fetcher *fetcher, const FetchStart *start) {
  size_t size = start->head.size + (start->body != NULL ? start->body->size : 0);
  if (fetcher->bell == NULL || fetcher->count == FETCH_RUNNING_MAX + FETCH_QUEUED_MAX ||
      size > FETCH_REQUESTS_MAX - fetcher->bytes) {
    fetcher->on_end(fetcher->data, start->token, CODE_RATE_LIMITED,
                    "too many HTTP requests are under way");
    return;
  }
  Fetch *fetch = mem_zalloc(sizeof *fetch);
  fetch->token = start->token;
  fetch->due_ms = now_ms() + start->timeout_ms;
  fetch->answer_max = start->answer_max;
  buf_append(&fetch->head, start->head.bytes, start->head.size);
  fetch->has_body = start->body != NULL;
  if (fetch->has_body) buf_append(&fetch->body, start->body->bytes, start->body->size);
  fetcher->count++;
  fetcher->bytes += size;
  uv_mutex_lock(&fetcher->lock);
  push(&fetcher->queued, fetch);
  wake(fetcher);
  uv_mutex_unlock(&fetcher->lock);
  if (!fetcher->has_thread) start_thread(fetcher);
}

void fetcher_take(Fetcher *fetcher, uint32_t token, FetchAnswer *answer) {
  Fetch *fetch = take(&fetcher->answered, token, NULL);
  if (fetch == NULL) return;
  *answer = fetch->answer;
  fetch->answer = (FetchAnswer){0};
  forget(fetcher, fetch);
  uv_mutex_lock(&fetcher->lock);
  fetcher->running--;
  wake(fetcher);
  uv_mutex_unlock(&fetcher->lock);
}
