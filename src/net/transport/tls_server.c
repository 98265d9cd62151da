// The certificate that a net serves with, and what its TLS connections have in common.
#include <openssl/x509v3.h>
#include <string.h>

#include "base/mem.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/transport/tls_internal.h"

TlsServer *tls_server_of(Net *net) {
  if (net->tls) return net->tls;
  net->tls = mem_zalloc(sizeof *net->tls);
  tls_tickets_init(&net->tls->own_tickets);
  net->tls->tickets = &net->tls->own_tickets;
  return net->tls;
}

// Connections that stand keep the context that they began with.
static void use_context(TlsServer *server, SSL_CTX *context) {
  SSL_CTX_free(server->context);
  server->context = context;
  if (context && !server->method) server->method = tls_make_method();
  server->has_files = false;
}

// The same by a net of its own, which the servicers follow.
static void use_own_context(Net *net, SSL_CTX *context) {
  use_context(net->tls, context);
  tls_tickets_clear(&net->tls->own_tickets);
  if (net->servicers) servicers_share_tls(net);
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

TlsShare tls_share(Net *net) {
  TlsServer *server = tls_server_of(net);
  if (server->context) SSL_CTX_up_ref(server->context);
  return (TlsShare){server->context, &server->own_tickets};
}

void tls_use_share(Net *net, const TlsShare *share) {
  TlsServer *server = tls_server_of(net);
  server->tickets = share->tickets;
  use_context(server, share->context);
}

void tls_drop_share(const TlsShare *share) { SSL_CTX_free(share->context); }

const char *net_tls_library(void) { return OpenSSL_version(OPENSSL_VERSION); }

bool net_has_tls(const Net *net) {
  return net->tls && net->tls->context && net->tls->method;
}

// By the names that a client would accept it for.
bool tls_has_name(const Net *net, Text name) {
  if (!net_has_tls(net) || name.size == 0) return false;
  X509 *cert = SSL_CTX_get0_certificate(net->tls->context);
  return X509_check_host(cert, name.bytes, name.size, 0, NULL) == 1;
}

TlsStats net_tls_stats(const Net *net) {
  TlsStats own = net->tls ? net->tls->stats : (TlsStats){0};
  TlsStats others = servicers_figures(net).tls;
  return (TlsStats){.handshakes = own.handshakes + others.handshakes,
                    .resumed = own.resumed + others.resumed,
                    .failed = own.failed + others.failed,
                    .refused = own.refused + others.refused};
}

void tls_server_free(Net *net) {
  TlsServer *server = net->tls;
  if (!server) return;
  use_context(server, NULL);
  tls_tickets_clear(&server->own_tickets);
  pthread_mutex_destroy(&server->own_tickets.lock);
  BIO_meth_free(server->method);
  buf_deinit(&server->out);
  mem_free(server);
  net->tls = NULL;
}
