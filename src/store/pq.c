// See pq.h.
#include "store/pq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// A function's name in the library, and the offset of its pointer in Pq.
typedef struct Symbol {
  const char *name;
  size_t at;
} Symbol;

#define SYMBOL(name) \
  { "PQ" #name, offsetof(Pq, name) }
static const Symbol SYMBOLS[] = {
    SYMBOL(connectStartParams),
    SYMBOL(connectPoll),
    SYMBOL(connectionNeedsPassword),
    SYMBOL(serverVersion),
    SYMBOL(finish),
    SYMBOL(status),
    SYMBOL(errorMessage),
    SYMBOL(socket),
    SYMBOL(setErrorVerbosity),
    SYMBOL(setNoticeReceiver),
    SYMBOL(setnonblocking),
    SYMBOL(enterPipelineMode),
    SYMBOL(pipelineSync),
    SYMBOL(sendPrepare),
    SYMBOL(sendQueryPrepared),
    SYMBOL(sendQueryParams),
    SYMBOL(flush),
    SYMBOL(consumeInput),
    SYMBOL(isBusy),
    SYMBOL(getResult),
    SYMBOL(resultStatus),
    SYMBOL(resultErrorField),
    SYMBOL(cmdStatus),
    SYMBOL(ntuples),
    SYMBOL(nfields),
    SYMBOL(fname),
    SYMBOL(ftype),
    SYMBOL(getvalue),
    SYMBOL(getlength),
    SYMBOL(getisnull),
    SYMBOL(clear),
    SYMBOL(conninfoParse),
    SYMBOL(conninfoFree),
    SYMBOL(freemem),
};
#undef SYMBOL

static bool find_symbols(void *library, Pq *pq) {
  for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++) {
    void *symbol = dlsym(library, SYMBOLS[i].name);
    if (symbol == NULL) return false;
    memcpy((char *)pq + SYMBOLS[i].at, &symbol, sizeof symbol);
  }
  return true;
}

static bool load(Pq *pq) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return false;
  if (find_symbols(library, pq)) return true;
  dlclose(library);
  return false;
}

const Pq *pq_load(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static Pq pq;
  static bool is_loaded;
  pthread_mutex_lock(&lock);
  if (!is_loaded) is_loaded = load(&pq);
  bool is_good = is_loaded;
  pthread_mutex_unlock(&lock);
  return is_good ? &pq : NULL;
}
