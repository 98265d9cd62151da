// Contexts of OpenSSL: versions and ciphers, session tickets, and PEM files. Describes
// each fault of a file in one sentence (TlsProblem).
#include "net/transport/tls_context.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

enum { EXPIRES_SOON_DAYS = 7, DEV_DAYS = 14 };

__attribute__((format(printf, 2, 3))) static bool complain(TlsProblem *problem,
                                                           const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem->text, sizeof problem->text, format, arguments);
  va_end(arguments);
  ERR_clear_error();
  return false;
}

const char *tls_take_error(void) {
  unsigned long error = ERR_peek_error();
  const char *text = error ? ERR_reason_error_string(error) : NULL;
  ERR_clear_error();
  return text ? text : "unknown error";
}

// --- Tickets ---

void tls_tickets_init(TlsTickets *tickets) {
  *tickets = (TlsTickets){.count = 0};
  pthread_mutex_init(&tickets->lock, NULL);
}

void tls_tickets_clear(TlsTickets *tickets) {
  pthread_mutex_lock(&tickets->lock);
  OPENSSL_cleanse(tickets->keys, sizeof tickets->keys);
  tickets->count = 0;
  pthread_mutex_unlock(&tickets->lock);
}

static bool is_due(const TlsTickets *tickets, uint64_t age_ms, uint32_t index) {
  // The clock of this thread may be slightly behind that of the thread that made the
  // key.
  return tickets->now_ms >= tickets->keys[index].made_ms + age_ms;
}

// Returns the key for new tickets, or NULL if OpenSSL cannot make random bytes.
static const TlsTicketKey *newest_key(TlsTickets *tickets) {
  if (tickets->count > 0 && !is_due(tickets, TLS_TICKET_ROTATE_MS, 0))
    return &tickets->keys[0];
  TlsTicketKey key = {.made_ms = tickets->now_ms};
  if (RAND_bytes(key.name, sizeof key.name) != 1 ||
      RAND_bytes(key.cipher, sizeof key.cipher) != 1 ||
      RAND_bytes(key.mac, sizeof key.mac) != 1)
    return NULL;
  tickets->keys[1] = tickets->keys[0];
  tickets->keys[0] = key;
  OPENSSL_cleanse(&key, sizeof key);
  if (tickets->count < 2) tickets->count++;
  return &tickets->keys[0];
}

static const TlsTicketKey *find_key(const TlsTickets *tickets, const uint8_t *name) {
  for (uint32_t i = 0; i < tickets->count; i++) {
    const TlsTicketKey *key = &tickets->keys[i];
    if (memcmp(key->name, name, sizeof key->name) == 0 &&
        !is_due(tickets, 2 * (uint64_t)TLS_TICKET_ROTATE_MS, i))
      return key;
  }
  return NULL;
}

static bool set_mac(EVP_MAC_CTX *mac, const TlsTicketKey *key) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key->mac,
                                        sizeof key->mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

// Returns what SSL_CTX_set_tlsext_ticket_key_evp_cb requires: -1 for an error, 0 for an
// unknown key, 1 for a known key, 2 for a known key whose client needs a new ticket.
static int use_ticket(TlsTickets *tickets, unsigned char *name, unsigned char *iv,
                      EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int is_new) {
  const EVP_CIPHER *aes = EVP_aes_256_cbc();
  const TlsTicketKey *newest = newest_key(tickets);
  if (!newest) return -1;
  if (is_new) {
    memcpy(name, newest->name, sizeof newest->name);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(aes)) != 1 ||
        EVP_EncryptInit_ex(cipher, aes, NULL, newest->cipher, iv) != 1)
      return -1;
    return set_mac(mac, newest) ? 1 : -1;
  }
  const TlsTicketKey *key = find_key(tickets, name);
  if (!key) return 0;
  if (!set_mac(mac, key) || EVP_DecryptInit_ex(cipher, aes, NULL, key->cipher, iv) != 1)
    return -1;
  return key == newest ? 1 : 2;
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv,
                     EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int is_new) {
  TlsTickets *tickets = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  pthread_mutex_lock(&tickets->lock);
  int result = use_ticket(tickets, name, iv, cipher, mac, is_new);
  pthread_mutex_unlock(&tickets->lock);
  return result;
}

// --- Contexts ---

static int on_alpn(SSL *ssl, const unsigned char **chosen, unsigned char *size,
                   const unsigned char *offered, unsigned offered_size, void *data) {
  static const unsigned char HTTP[] = "\x08http/1.1";
  (void)ssl, (void)data;
  unsigned char *found;
  int result =
      SSL_select_next_proto(&found, size, HTTP, sizeof HTTP - 1, offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK
                                          : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int no_prompt(char *to, int size, int is_writing, void *data) {
  (void)to, (void)size, (void)is_writing, (void)data;
  return -1;
}

// Keeps sessions only in tickets, so that no client can fill the server's memory with
// sessions. For TLS 1.2, allows only ciphers with forward secrecy and authenticated
// encryption.
static SSL_CTX *make_context(TlsTickets *tickets) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (!context) return NULL;
  SSL_CTX_set_app_data(context, tickets);
  SSL_CTX_set_security_level(context, 2);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, TLS_TICKET_ROTATE_MS / 1000);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  SSL_CTX_set_alpn_select_cb(context, on_alpn, NULL);
  SSL_CTX_set_default_passwd_cb(context, no_prompt);
  static const unsigned char NAME[] = "perigee";
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
      SSL_CTX_set_session_id_context(context, NAME, sizeof NAME - 1) == 1)
    return context;
  SSL_CTX_free(context);
  return NULL;
}

// --- Files ---

static bool read_file(const char *key_name, const char *path, Buf *bytes,
                      TlsProblem *problem) {
  int err = file_read(path, bytes);
  if (err == 0) return true;
  return complain(problem,
                  "%s: cannot read %.300s: %s; the path is taken from the folder in "
                  "which perigee was started",
                  key_name, path, err_text(err));
}

bool tls_files_read(TlsFiles *files, TlsProblem *problem) {
  files->cert = files->key = (Buf){0};
  if (read_file("tls_cert", files->cert_path, &files->cert, problem) &&
      read_file("tls_key", files->key_path, &files->key, problem))
    return true;
  tls_files_deinit(files);
  return false;
}

void tls_files_deinit(TlsFiles *files) {
  if (files->key.data) OPENSSL_cleanse(files->key.data, files->key.capacity);
  buf_deinit(&files->key);
  buf_deinit(&files->cert);
}

void tls_files_digest(const TlsFiles *files, uint8_t digest[TLS_DIGEST_SIZE]) {
  uint8_t both[2 * TLS_DIGEST_SIZE];
  EVP_Digest(files->cert.data, files->cert.size, both, NULL, EVP_sha256(), NULL);
  EVP_Digest(files->key.data, files->key.size, both + TLS_DIGEST_SIZE, NULL,
             EVP_sha256(), NULL);
  EVP_Digest(both, sizeof both, digest, NULL, EVP_sha256(), NULL);
}

static BIO *open_bytes(const Buf *bytes) {
  return BIO_new_mem_buf(bytes->size ? (const void *)bytes->data : "",
                         (int)bytes->size);
}

// Reports that the key needs a passphrase, and gives none, because a server has no
// terminal to ask for one.
static int no_password(char *to, int size, int is_writing, void *data) {
  (void)to, (void)size, (void)is_writing;
  *(bool *)data = true;
  return -1;
}

// Uses the first certificate of the file as the server's, and the others as its chain.
static bool use_chain(SSL_CTX *context, const TlsFiles *files, TlsProblem *problem) {
  const char *path = files->cert_path;
  BIO *bio = open_bytes(&files->cert);
  X509 *cert = PEM_read_bio_X509(bio, NULL, no_prompt, NULL);
  bool is_good = false;
  if (!cert) {
    complain(problem,
             "tls_cert: there is no PEM certificate in %.300s; it has to begin with "
             "-----BEGIN CERTIFICATE-----",
             path);
  } else if (SSL_CTX_use_certificate(context, cert) != 1) {
    complain(problem, "tls_cert: the certificate in %.300s is of no use: %s", path,
             tls_take_error());
  } else {
    is_good = true;
  }
  X509_free(cert);
  while (is_good && (cert = PEM_read_bio_X509(bio, NULL, no_prompt, NULL))) {
    is_good = SSL_CTX_add0_chain_cert(context, cert) == 1;
    if (is_good) continue;
    X509_free(cert);
    complain(problem, "tls_cert: a certificate of the chain in %.300s is of no use: %s",
             path, tls_take_error());
  }
  ERR_clear_error();  // clears the error that means the end of the file
  BIO_free(bio);
  return is_good;
}

static bool use_key(SSL_CTX *context, const TlsFiles *files, TlsProblem *problem) {
  bool is_locked = false;
  BIO *bio = open_bytes(&files->key);
  EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &is_locked);
  BIO_free(bio);
  const char *path = files->key_path;
  if (is_locked)
    complain(problem,
             "tls_key: the key in %.200s is locked by a passphrase; write one without: "
             "openssl pkey -in %.200s -out plain.pem",
             path, path);
  else if (!key)
    complain(problem,
             "tls_key: there is no PEM private key in %.300s; it has to begin with "
             "-----BEGIN PRIVATE KEY----- or the like",
             path);
  bool is_good = key != NULL;
  if (is_good && X509_check_private_key(SSL_CTX_get0_certificate(context), key) != 1)
    is_good = complain(problem,
                       "tls_key: the key in %.300s is not that of the certificate in "
                       "%.300s; give two files that belong together",
                       path, files->cert_path);
  if (is_good && SSL_CTX_use_PrivateKey(context, key) != 1)
    is_good = complain(problem, "tls_key: the key in %.300s is of no use: %s", path,
                       tls_take_error());
  EVP_PKEY_free(key);
  return is_good;
}

static void print_date(char *out, size_t size, const ASN1_TIME *time) {
  struct tm tm;
  if (ASN1_TIME_to_tm(time, &tm) == 1)
    strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &tm);
  else
    snprintf(out, size, "unknown");
}

// Warns of an expired or future certificate. Does not refuse it, because clients do
// that themselves.
static void tell_dates(const TlsFiles *files, const X509 *cert) {
  const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
  char from_text[32], to_text[32];
  print_date(from_text, sizeof from_text, from);
  print_date(to_text, sizeof to_text, to);
  int days = 0, seconds = 0;
  ASN1_TIME_diff(&days, &seconds, NULL, to);
  if (X509_cmp_current_time(from) > 0)
    log_warn("the TLS certificate is not valid yet", log_str("file", files->cert_path),
             log_str("from", from_text));
  else if (X509_cmp_current_time(to) < 0)
    log_warn("the TLS certificate has expired; clients will refuse it",
             log_str("file", files->cert_path), log_str("on", to_text));
  else if (days < EXPIRES_SOON_DAYS)
    log_warn("the TLS certificate expires soon", log_str("file", files->cert_path),
             log_str("on", to_text));
  else
    log_info("TLS certificate read", log_str("file", files->cert_path),
             log_str("valid_until", to_text));
}

SSL_CTX *tls_context_new(const TlsFiles *files, TlsTickets *tickets,
                         TlsProblem *problem) {
  SSL_CTX *context = make_context(tickets);
  if (!context) {
    complain(problem, "OpenSSL does not start: %s", tls_take_error());
    return NULL;
  }
  if (use_chain(context, files, problem) && use_key(context, files, problem)) {
    tell_dates(files, SSL_CTX_get0_certificate(context));
    ERR_clear_error();
    return context;
  }
  SSL_CTX_free(context);
  return NULL;
}

// --- The certificate of tls_dev ---

static bool add_extension(X509 *cert, int id, const char *value) {
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, id, value);
  bool is_good = extension && X509_add_ext(cert, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_good;
}

static bool set_serial(X509 *cert) {
  uint64_t serial;
  return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1;
}

static bool fill_cert(X509 *cert, EVP_PKEY *key) {
  static const unsigned char NAME[] = "Perigee, made for this run";
  X509_NAME *name = X509_get_subject_name(cert);
  return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
         X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
         X509_gmtime_adj(X509_getm_notAfter(cert), DEV_DAYS * 86400L) &&
         X509_set_pubkey(cert, key) == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, NAME, -1, -1, 0) == 1 &&
         X509_set_issuer_name(cert, name) == 1 &&
         add_extension(cert, NID_subject_alt_name,
                       "DNS:localhost,IP:127.0.0.1,IP:::1") &&
         add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(cert, NID_key_usage, "critical,digitalSignature") &&
         add_extension(cert, NID_ext_key_usage, "serverAuth") &&
         X509_sign(cert, key, EVP_sha256()) > 0;
}

static bool print_fingerprint(char *out, const X509 *cert) {
  uint8_t digest[TLS_DIGEST_SIZE];
  if (X509_digest(cert, EVP_sha256(), digest, NULL) != 1) return false;
  for (int i = 0; i < TLS_DIGEST_SIZE; i++)
    sprintf(out + (size_t)3 * i, "%02X%s", digest[i],
            i < TLS_DIGEST_SIZE - 1 ? ":" : "");
  return true;
}

SSL_CTX *tls_context_dev(TlsTickets *tickets, char fingerprint[TLS_FINGERPRINT_SIZE]) {
  SSL_CTX *context = make_context(tickets);
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = X509_new();
  bool is_good = context && key && cert && fill_cert(cert, key) &&
                 print_fingerprint(fingerprint, cert) &&
                 SSL_CTX_use_certificate(context, cert) == 1 &&
                 SSL_CTX_use_PrivateKey(context, key) == 1;
  X509_free(cert);
  EVP_PKEY_free(key);
  ERR_clear_error();
  if (is_good) return context;
  SSL_CTX_free(context);
  return NULL;
}
