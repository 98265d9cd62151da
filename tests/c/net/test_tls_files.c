// Certificates from files: faults in them, changes of them while clients are connected,
// and session tickets.
#include "tls_world.h"

enum { DAY = 86400 };

typedef struct Paths {
  char cert[96], key[96];
} Paths;

// --- Files ---

static FILE *create(const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  return file;
}

static void write_text(const char *path, const char *text) {
  FILE *file = create(path);
  fputs(text, file);
  fclose(file);
}

static X509 *make_cert(EVP_PKEY *key, const char *name, long from, long to) {
  X509 *cert = X509_new();
  X509_set_version(cert, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), from);
  X509_gmtime_adj(X509_getm_notAfter(cert), to);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                             (const unsigned char *)name, -1, -1, 0);
  X509_set_issuer_name(cert, X509_get_subject_name(cert));
  X509_set_pubkey(cert, key);
  assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
  return cert;
}

// Writes a key, and a certificate for `name` that is valid between two times, in
// seconds from now.
static Paths write_pair(const TlsWorld *world, const char *name, long from, long to) {
  Paths paths;
  snprintf(paths.cert, sizeof paths.cert, "%s/%s.cert", world->folder, name);
  snprintf(paths.key, sizeof paths.key, "%s/%s.key", world->folder, name);
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = make_cert(key, name, from, to);
  FILE *file = create(paths.cert);
  PEM_write_X509(file, cert);
  fclose(file);
  file = create(paths.key);
  PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
  fclose(file);
  X509_free(cert);
  EVP_PKEY_free(key);
  return paths;
}

static void load(TlsWorld *world, const Paths *paths) {
  TlsProblem problem = {0};
  bool is_good = net_tls_load(world->net, paths->cert, paths->key, &problem);
  assert_string_equal(problem.text, "");
  assert_true(is_good);
}

// Expects a refusal with this beginning and end; the path is in between.
static void refuses(TlsWorld *world, const char *cert, const char *key,
                    const char *begins, const char *ends) {
  TlsProblem problem = {0};
  assert_false(net_tls_load(world->net, cert, key, &problem));
  size_t size = strlen(problem.text), end = strlen(ends);
  if (strncmp(problem.text, begins, strlen(begins)) != 0 || size < end ||
      strcmp(problem.text + size - end, ends) != 0)
    fail_msg("%s", problem.text);
}

static void serves(TlsWorld *world, const char *name) {
  TlsClient client;
  client_connect(&client, world);
  char found[64] = "";
  X509 *cert = SSL_get1_peer_certificate(client.ssl);
  X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, found,
                            sizeof found);
  assert_string_equal(found, name);
  X509_free(cert);
  client_check(&client);
  client_deinit(&client);
}

static void files_are_served(void **state) {
  TlsWorld *world = *state;
  Paths paths = write_pair(world, "one", -DAY, 90L * DAY);
  load(world, &paths);
  serves(world, "one");
  assert_false(is_logged(world, "expire"));
}

static void chain_comes_along(void **state) {
  TlsWorld *world = *state;
  Paths one = write_pair(world, "one", -DAY, 90L * DAY);
  Paths two = write_pair(world, "two", -DAY, 90L * DAY);
  char command[256];
  snprintf(command, sizeof command, "cat %s >> %s", two.cert, one.cert);
  assert_int_equal(system(command), 0);
  load(world, &one);
  TlsClient client;
  client_connect(&client, world);
  assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(client.ssl)), 2);
  client_deinit(&client);
}

static void each_fault_has_its_sentence(void **state) {
  TlsWorld *world = *state;
  Paths one = write_pair(world, "one", -DAY, 90L * DAY);
  Paths two = write_pair(world, "two", -DAY, 90L * DAY);
  char other[96];
  snprintf(other, sizeof other, "%s/other", world->folder);
  static const char *const STARTED =
      ": no such file or directory; the path is taken from the folder in which perigee "
      "was started";
  refuses(world, other, one.key, "tls_cert: cannot read /", STARTED);
  refuses(world, one.cert, other, "tls_key: cannot read /", STARTED);
  refuses(world, world->folder, one.key, "tls_cert: cannot read /",
          "perigee was started");
  refuses(world, one.cert, two.key, "tls_key: the key in /",
          "/one.cert; give two files that belong together");
  static const char *const NO_CERT =
      "; it has to begin with -----BEGIN CERTIFICATE-----";
  static const char *const NO_KEY =
      "; it has to begin with -----BEGIN PRIVATE KEY----- or the like";
  write_text(other, "");
  refuses(world, other, one.key, "tls_cert: there is no PEM certificate in ", NO_CERT);
  refuses(world, one.cert, other, "tls_key: there is no PEM private key in ", NO_KEY);
  write_text(other, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  refuses(world, other, one.key, "tls_cert: there is no PEM certificate in ", NO_CERT);
  refuses(world, one.key, one.key, "tls_cert: there is no PEM certificate in ",
          NO_CERT);
  refuses(world, one.cert, one.cert, "tls_key: there is no PEM private key in ",
          NO_KEY);
  assert_false(net_has_tls(world->net));
}

static void locked_key_is_refused(void **state) {
  TlsWorld *world = *state;
  Paths paths = write_pair(world, "one", -DAY, 90L * DAY);
  FILE *file = fopen(paths.key, "r");
  EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
  fclose(file);
  static const unsigned char WORD[] = "secret";
  file = create(paths.key);
  PEM_write_PrivateKey(file, key, EVP_aes_256_cbc(), WORD, 6, NULL, NULL);
  fclose(file);
  EVP_PKEY_free(key);
  refuses(world, paths.cert, paths.key, "tls_key: the key in /",
          "one.key -out plain.pem");
}

static void weak_key_is_refused(void **state) {
  TlsWorld *world = *state;
  Paths paths = write_pair(world, "one", -DAY, 90L * DAY);
  EVP_PKEY *key = EVP_RSA_gen(1024);
  X509 *cert = make_cert(key, "weak", -DAY, DAY);
  FILE *file = create(paths.cert);
  PEM_write_X509(file, cert);
  fclose(file);
  X509_free(cert);
  EVP_PKEY_free(key);
  refuses(world, paths.cert, paths.key, "tls_cert: the certificate in /",
          "is of no use: ee key too small");
}

static void dates_are_warned_of(void **state) {
  TlsWorld *world = *state;
  Paths paths = write_pair(world, "old", -2 * DAY, -DAY);
  load(world, &paths);
  assert_true(is_logged(world, "the TLS certificate has expired"));
  serves(world, "old");
  paths = write_pair(world, "early", DAY, 90L * DAY);
  load(world, &paths);
  assert_true(is_logged(world, "the TLS certificate is not valid yet"));
  paths = write_pair(world, "late", -DAY, 3 * DAY);
  load(world, &paths);
  assert_true(is_logged(world, "the TLS certificate expires soon"));
}

static void new_files_are_for_new_connections(void **state) {
  TlsWorld *world = *state;
  Paths one = write_pair(world, "one", -DAY, 90L * DAY);
  load(world, &one);
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  ConnId conn = world->conn;
  Paths two = write_pair(world, "two", -DAY, 90L * DAY);
  load(world, &two);
  serves(world, "two");
  refuses(world, one.cert, two.key, "tls_key: the key in /", "together");
  serves(world, "two");
  world->conn = conn;
  client_check(&client);
  net_tls_off(world->net);
  client_check(&client);
  client_deinit(&client);
}

static void change_in_a_handshake_does_no_harm(void **state) {
  TlsWorld *world = *state;
  Paths one = write_pair(world, "one", -DAY, 90L * DAY);
  load(world, &one);
  TlsClient client;
  client_init(&client, world);
  client_read_plain(&client);
  client_send(&client);
  net_tls_off(world->net);
  converse(&client);
  client_check(&client);
  client_deinit(&client);
}

// --- Tickets ---

// Connects with the session of the previous call, if any, and keeps the new session.
static bool resumes(TlsWorld *world, SSL_SESSION **session) {
  TlsClient client;
  client_init(&client, world);
  if (*session) SSL_set_session(client.ssl, *session);
  converse(&client);
  client_check(&client);
  bool is_resumed = SSL_session_reused(client.ssl);
  SSL_SESSION_free(*session);
  *session = SSL_get1_session(client.ssl);
  SSL_shutdown(client.ssl);
  converse(&client);
  client_deinit(&client);
  return is_resumed;
}

static void tickets_resume(TlsWorld *world, int version) {
  SSL_CTX_set_min_proto_version(world->client_context, version);
  SSL_CTX_set_max_proto_version(world->client_context, version);
  SSL_SESSION *session = NULL;
  assert_false(resumes(world, &session));
  assert_non_null(session);
  assert_true(resumes(world, &session));
  assert_true(resumes(world, &session));
  SSL_SESSION_free(session);
}

static void sessions_are_resumed(void **state) {
  TlsWorld *world = *state;
  serve_dev(world);
  tickets_resume(world, TLS1_2_VERSION);
  tickets_resume(world, TLS1_3_VERSION);
  assert_int_equal(net_tls_stats(world->net).handshakes, 6);
  assert_int_equal(net_tls_stats(world->net).resumed, 4);
}

// The key is replaced after six hours, and its tickets can be read for six more hours.
static void tickets_outlive_one_key(void **state) {
  TlsWorld *world = *state;
  const uint64_t hour = 3600 * 1000;
  serve_dev(world);
  SSL_CTX_set_max_proto_version(world->client_context, TLS1_2_VERSION);
  SSL_SESSION *session = NULL, *first = NULL;
  assert_false(resumes(world, &session));
  SSL_SESSION_up_ref(session);
  first = session;
  pass(world, 7 * hour);
  assert_true(resumes(world, &session));
  assert_ptr_not_equal(session, first);  // the client got a ticket of the new key
  pass(world, 6 * hour);
  assert_false(resumes(world, &first));
  assert_true(resumes(world, &session));
  SSL_SESSION_free(first);
  SSL_SESSION_free(session);
}

static void tickets_end_with_the_certificate(void **state) {
  TlsWorld *world = *state;
  Paths one = write_pair(world, "one", -DAY, 90L * DAY);
  load(world, &one);
  SSL_SESSION *session = NULL;
  assert_false(resumes(world, &session));
  load(world, &one);  // the files have not changed
  assert_true(resumes(world, &session));
  Paths two = write_pair(world, "two", -DAY, 90L * DAY);
  load(world, &two);
  assert_false(resumes(world, &session));
  SSL_SESSION_free(session);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(files_are_served),
      TEST(chain_comes_along),
      TEST(each_fault_has_its_sentence),
      TEST(locked_key_is_refused),
      TEST(weak_key_is_refused),
      TEST(dates_are_warned_of),
      TEST(new_files_are_for_new_connections),
      TEST(change_in_a_handshake_does_no_harm),
      TEST(sessions_are_resumed),
      TEST(tickets_outlive_one_key),
      TEST(tickets_end_with_the_certificate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
