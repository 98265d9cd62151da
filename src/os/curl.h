// libcurl, which the first HTTP request loads. The server does not link libcurl,
// because most games make no requests, and libcurl with its dependencies is larger than
// the server. This file replaces libcurl's headers. It declares the functions and
// numbers that the server uses, from the binary interface libcurl.so.4 (unchanged since
// 2006).
#pragma once

#include <stddef.h>

typedef void CurlEasy;    // CURL
typedef void CurlMulti;   // CURLM
typedef void CurlFields;  // struct curl_slist

typedef enum CurlOption {
  CURL_NOBODY = 44,
  CURL_NOSIGNAL = 99,
  CURL_TIMEOUT_MS = 155,
  CURL_PROTOCOLS = 181,
  CURL_QUICK_EXIT = 322,  // since libcurl 7.87; earlier versions refuse it
  CURL_WRITE_DATA = 10001,
  CURL_URL = 10002,
  CURL_PROXY = 10004,
  CURL_ERROR_TEXT = 10010,
  CURL_POST_FIELDS = 10015,
  CURL_HEADERS = 10023,
  CURL_HEADER_DATA = 10029,
  CURL_METHOD = 10036,
  CURL_CA_FILE = 10065,
  CURL_PRIVATE = 10103,
  CURL_ON_BODY = 20011,
  CURL_ON_HEADER = 20079,
  CURL_POST_SIZE = 30120,
} CurlOption;

enum {
  CURL_HTTP_AND_HTTPS = 3,
  CURL_ERROR_SIZE = 256,
  CURL_INFO_STATUS = 0x200002,
  CURL_INFO_PRIVATE = 0x100015,
  CURL_MESSAGE_DONE = 1,
};

typedef enum CurlResult {
  CURL_OK = 0,
  CURL_NOT_HTTP = 1,  // an answer without a head
  CURL_BAD_ANSWER = 8,
  CURL_HTTP2_FAILED = 16,
  CURL_TIMED_OUT = 28,
  CURL_HTTP2_STREAM_FAILED = 92,
} CurlResult;

typedef struct CurlMessage {
  int type;
  CurlEasy *easy;
  union {
    void *pointer;
    int result;  // CurlResult
  } data;
} CurlMessage;

/// The functions of the library.
typedef struct Curl {
  int (*global_init)(long flags);
  CurlEasy *(*easy_init)(void);
  int (*easy_setopt)(CurlEasy *easy, int option, ...);
  int (*easy_getinfo)(CurlEasy *easy, int info, ...);
  void (*easy_cleanup)(CurlEasy *easy);
  const char *(*easy_strerror)(int result);
  CurlFields *(*slist_append)(CurlFields *fields, const char *text);
  void (*slist_free_all)(CurlFields *fields);
  CurlMulti *(*multi_init)(void);
  int (*multi_add_handle)(CurlMulti *multi, CurlEasy *easy);
  int (*multi_remove_handle)(CurlMulti *multi, CurlEasy *easy);
  int (*multi_perform)(CurlMulti *multi, int *running);
  CurlMessage *(*multi_info_read)(CurlMulti *multi, int *left);
  int (*multi_poll)(CurlMulti *multi, void *fds, unsigned count, int ms, int *ready);
  int (*multi_wakeup)(CurlMulti *multi);
  int (*multi_cleanup)(CurlMulti *multi);
} Curl;

/// Returns the library, or NULL if this machine does not have it. The process loads the
/// library only once. Any thread may call this function.
const Curl *curl_load(void);
