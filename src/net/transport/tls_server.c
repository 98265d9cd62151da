// The certificate of a net, and the state that its TLS connections share.
#include <openssl/x509v3.h>
#include <string.h>

#include "base/mem.h"
#include "net/counters.h"
#include "net/transport/tls_internal.h"

// Sets the context of later connections. Existing connections keep theirs.
static void use_context(TlsServer *server, SSL_CTX *context) {
  SSL_CTX_free(server->context);
  server->context = context;
  server->has_files = false;
}

// --- A part of the Net ---

// The certificate and tickets for a remote.
typedef struct Shared {
  SSL_CTX *context;     // counted reference; NULL: none
  TlsTickets *tickets;  // tickets, which outlive the remote
} Shared;

static void run_use(Net *net, const void *body) {
  const Shared *shared = body;
  TlsServer *server = tls_server_of(net);
  server->tickets = shared->tickets;
  use_context(server, shared->context);
}

static void drop_use(const void *body) {
  SSL_CTX_free(((const Shared *)body)->context);
}

static void share(const NetPart *part, Remote *remote) {
  static const RemoteCall USE = {.run = run_use, .drop = drop_use};
  TlsServer *server = (TlsServer *)part;
  Shared *shared = remote->ops->post(remote, &USE, sizeof *shared);
  if (server->context) SSL_CTX_up_ref(server->context);
  *shared = (Shared){server->context, &server->own_tickets};
}

static void add_counters(const NetPart *part, NetCounters *counters) {
  counters_add(counters, &(NetCounters){.tls = ((const TlsServer *)part)->stats});
}

static void free_server(NetPart *part) {
  TlsServer *server = (TlsServer *)part;
  use_context(server, NULL);
  tls_tickets_clear(&server->own_tickets);
  pthread_mutex_destroy(&server->own_tickets.lock);
  BIO_meth_free(server->method);
  buf_deinit(&server->out);
  mem_free(server);
}

TlsServer *tls_server_of(Net *net) {
  static const NetPartOps PART = {
      .share = share, .free = free_server, .add_counters = add_counters};
  if (net->tls) return net->tls;
  net->tls = mem_zalloc(sizeof *net->tls);
  net_add_part(net, &net->tls->part, &PART);
  tls_tickets_init(&net->tls->own_tickets);
  net->tls->tickets = &net->tls->own_tickets;
  return net->tls;
}

// --- Certificates ---

// Starts to use a context, here and at the remotes.
static void use_own_context(Net *net, SSL_CTX *context) {
  use_context(net->tls, context);
  tls_tickets_clear(&net->tls->own_tickets);
  net_share(net, &net->tls->part);
}

static bool load(Net *net, const TlsFiles *files, TlsProblem *problem) {
  TlsServer *server = tls_server_of(net);
  uint8_t digest[TLS_DIGEST_SIZE];
  tls_files_digest(files, digest);
  if (server->has_files && memcmp(digest, server->digest, sizeof digest) == 0)
    return true;
  SSL_CTX *context = tls_context_new(files, &server->own_tickets, problem);
  if (!context) return false;
  use_own_context(net, context);
  server->has_files = true;
  memcpy(server->digest, digest, sizeof digest);
  return true;
}

bool net_tls_load(Net *net, const char *cert, const char *key, TlsProblem *problem) {
  TlsFiles files = {.cert_path = cert, .key_path = key};
  if (!tls_files_read(&files, problem)) return false;
  bool is_good = load(net, &files, problem);
  tls_files_deinit(&files);
  return is_good;
}

bool net_tls_dev(Net *net, char fingerprint[TLS_FINGERPRINT_SIZE]) {
  TlsServer *server = tls_server_of(net);
  SSL_CTX *context = tls_context_dev(&server->own_tickets, fingerprint);
  if (context) use_own_context(net, context);
  return context != NULL;
}

void net_tls_off(Net *net) {
  if (net->tls) use_own_context(net, NULL);
}

const char *net_tls_library(void) { return OpenSSL_version(OPENSSL_VERSION); }

bool net_has_tls(const Net *net) { return net->tls && net->tls->context; }

// Compares names as clients do.
bool net_tls_has_name(const Net *net, Text name) {
  if (!net_has_tls(net) || name.size == 0) return false;
  X509 *cert = SSL_CTX_get0_certificate(net->tls->context);
  return X509_check_host(cert, name.bytes, name.size, 0, NULL) == 1;
}
