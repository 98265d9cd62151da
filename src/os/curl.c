// See curl.h.
#include "os/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static const char *const LIBRARIES[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

// A function's name in the library, and the offset of its pointer in Curl.
typedef struct Symbol {
  const char *name;
  size_t at;
} Symbol;

#define SYMBOL(name) \
  { "curl_" #name, offsetof(Curl, name) }
static const Symbol SYMBOLS[] = {
    SYMBOL(global_init),      SYMBOL(easy_init),           SYMBOL(easy_setopt),
    SYMBOL(easy_getinfo),     SYMBOL(easy_cleanup),        SYMBOL(easy_strerror),
    SYMBOL(slist_append),     SYMBOL(slist_free_all),      SYMBOL(multi_init),
    SYMBOL(multi_add_handle), SYMBOL(multi_remove_handle), SYMBOL(multi_perform),
    SYMBOL(multi_info_read),  SYMBOL(multi_poll),          SYMBOL(multi_wakeup),
    SYMBOL(multi_cleanup),
};
#undef SYMBOL

static bool find_symbols(void *library, Curl *curl) {
  for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
    void *symbol = dlsym(library, SYMBOLS[i].name);
    if (symbol == NULL) return false;
    memcpy((char *)curl + SYMBOLS[i].at, &symbol, sizeof symbol);
  }
  return true;
}

static bool load(Curl *curl) {
  enum { INIT_ALL = 3 };
  for (size_t i = 0; i < sizeof LIBRARIES / sizeof *LIBRARIES; i++) {
    void *library = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) continue;
    if (find_symbols(library, curl) && curl->global_init(INIT_ALL) == CURL_OK)
      return true;
    dlclose(library);
  }
  return false;
}

const Curl *curl_load(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static Curl curl;
  static bool is_loaded;
  pthread_mutex_lock(&lock);
  if (!is_loaded) is_loaded = load(&curl);
  bool is_good = is_loaded;
  pthread_mutex_unlock(&lock);
  return is_good ? &curl : NULL;
}
