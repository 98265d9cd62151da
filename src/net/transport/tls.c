// The TLS filter of a connection: a Transport that encrypts what it is given and hands
// it to the transport below. OpenSSL sees no socket: it reads the bytes that have just
// arrived and writes to a buffer that all connections share, because it is empty again
// before anything else happens. What the socket did not take waits, encrypted, in a
// buffer of the connection's own, and until that is gone nothing more is encrypted; so
// messages that wait can still be dropped or replaced, and an idle connection has no
// buffers.
#include <openssl/err.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/transport/tls_internal.h"

enum {
  // What OpenSSL itself has to say (its part of the handshake, alerts) and that the
  // other side does not read.
  QUEUED_MAX = 128 << 10,
};

struct Tls {
  SSL *ssl;
  const Transport *below;
  const uint8_t *in;  // what has arrived and OpenSSL has not read
  size_t in_size;
  Buf queued;           // encrypted, not handed down yet
  Buf writing;          // handed down
  const uint8_t *rest;  // plain, from `write`
  size_t left;
  bool is_ready;      // the handshake is done
  bool is_writing;    // `writing`, by the transport below
  bool is_busy;       // with what `write` was given
  bool is_over;       // nothing more is read: close_notify or a failure
  bool is_failed;     // nothing more is said either
  bool is_end_due;    // close_notify came while the conn takes no input
  bool is_finishing;  // close_notify was sent
  char address[ADDRESS_SIZE];
  uv_write_t request;  // for the transport below
};

// --- OpenSSL's side ---

static int bio_read(BIO *bio, char *to, size_t size, size_t *done) {
  Tls *tls = ((Conn *)BIO_get_data(bio))->tls;
  BIO_clear_retry_flags(bio);
  *done = size < tls->in_size ? size : tls->in_size;
  if (*done == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  memcpy(to, tls->in, *done);
  tls->in += *done;
  tls->in_size -= *done;
  return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t size, size_t *done) {
  const Conn *conn = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  buf_append(&conn->net->tls->out, bytes, size);
  *done = size;
  return 1;
}

static long bio_control(BIO *bio, int command, long number, void *data) {
  (void)bio, (void)number, (void)data;
  return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD *tls_make_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "conn");
  if (!method) return NULL;
  BIO_meth_set_read_ex(method, bio_read);
  BIO_meth_set_write_ex(method, bio_write);
  BIO_meth_set_ctrl(method, bio_control);
  BIO_meth_set_create(method, bio_create);
  return method;
}

// --- Down: bytes that are encrypted ---

// Hands down what waits, if nothing is under way.
static int write_queued(Conn *conn) {
  Tls *tls = conn->tls;
  if (tls->is_writing || tls->queued.size == 0) return 0;
  Buf emptied = tls->writing;
  tls->writing = tls->queued;
  tls->queued = emptied;
  int err = tls->below->write(conn, tls->writing.data, tls->writing.size);
  tls->is_writing = err == 0;
  return err;
}

// Hands down what OpenSSL wrote. Returns 0 or an error.
static int emit(Conn *conn) {
  Tls *tls = conn->tls;
  Buf *out = &conn->net->tls->out;
  size_t done = 0;
  int err = 0;
  if (out->size == 0) return 0;
  if (!tls->is_writing && tls->queued.size == 0) {
    uv_buf_t buf = uv_buf_init((char *)out->data, (unsigned)out->size);
    int written = tls->below->try_write(conn, &buf, 1);
    if (written > 0) done = (size_t)written;
    if (written < 0 && written != UV_EAGAIN) err = written;
  }
  if (!err && done < out->size) {
    buf_append(&tls->queued, out->data + done, out->size - done);
    err = tls->queued.size > QUEUED_MAX ? UV_ENOBUFS : write_queued(conn);
  }
  out->size = 0;
  return err;
}

// Ends the connection for a fault, which is logged here and nowhere else.
static void fail(Conn *conn, const char *text) {
  Tls *tls = conn->tls;
  if (!tls->is_ready) conn->net->tls->stats.failed++;
  tls->is_over = tls->is_failed = true;
  emit(conn);  // the alert, which says why
  log_info(tls->is_ready ? "TLS failed" : "TLS handshake failed",
           log_str("address", tls->address), log_str("error", text));
  conn_end(conn, UV_EPROTO);
}

// --- Encrypting ---

// What is left to encrypt of an array of buffers.
typedef struct Gather {
  const uv_buf_t *bufs;
  unsigned count;
  size_t at;  // bytes of the first that are done
} Gather;

// The next bytes in one piece: where they are, or, of small buffers, copied together, so
// that they share a record.
static size_t gather_next(Gather *gather, uint8_t *room, const uint8_t **bytes) {
  size_t size = 0;
  *bytes = room;
  while (gather->count > 0 && size < RECORD_BYTES) {
    const uint8_t *from = (const uint8_t *)gather->bufs->base + gather->at;
    size_t here = gather->bufs->len - gather->at;
    size_t taken = here < RECORD_BYTES - size ? here : RECORD_BYTES - size;
    if (size == 0 && (taken == RECORD_BYTES || gather->count == 1))
      *bytes = from;
    else
      memcpy(room + size, from, taken);
    size += taken;
    gather->at += taken;
    if (taken < here) break;
    gather->bufs++;
    gather->count--;
    gather->at = 0;
  }
  return size;
}

// Encrypts about WRITE_CHUNK_BYTES. Returns how many bytes that were, 0 at the end, or
// an error.
static int encrypt(Conn *conn, Gather *gather) {
  size_t done = 0;
  while (done < WRITE_CHUNK_BYTES) {
    const uint8_t *bytes;
    size_t size = gather_next(gather, conn->net->tls->gathered, &bytes), written;
    if (size == 0) break;
    ERR_clear_error();
    if (SSL_write_ex(conn->tls->ssl, bytes, size, &written) != 1) {
      conn->net->tls->out.size = 0;
      tls_take_error();
      return UV_EPROTO;
    }
    done += size;
  }
  return (int)done;
}

// --- The transport ---

static void tls_read_start(Conn *conn) { conn->tls->below->read_start(conn); }

static void tls_read_stop(Conn *conn) { conn->tls->below->read_stop(conn); }

static bool can_encrypt(const Tls *tls) {
  return tls->is_ready && !tls->is_failed && !tls->is_finishing && !tls->is_writing &&
         tls->queued.size == 0;
}

static int tls_try_write(Conn *conn, const uv_buf_t *bufs, unsigned count) {
  Tls *tls = conn->tls;
  Gather gather = {.bufs = bufs, .count = count};
  int total = 0;
  while (!tls->is_busy && can_encrypt(tls)) {
    int done = encrypt(conn, &gather);
    int err = done < 0 ? done : emit(conn);
    if (err < 0) return err;
    if (done == 0) break;
    total += done;
  }
  return total > 0 ? total : UV_EAGAIN;
}

// Encrypts and hands down the next part of what `write` was given.
static int write_rest(Conn *conn) {
  Tls *tls = conn->tls;
  if (tls->left == 0 || !can_encrypt(tls)) return 0;
  uv_buf_t buf = uv_buf_init((char *)tls->rest, (unsigned)tls->left);
  Gather gather = {.bufs = &buf, .count = 1};
  int done = encrypt(conn, &gather);
  if (done < 0) return done;
  tls->rest += done;
  tls->left -= (size_t)done;
  Buf *out = &conn->net->tls->out;
  buf_append(&tls->queued, out->data, out->size);
  out->size = 0;
  return write_queued(conn);
}

static int tls_write(Conn *conn, uint8_t *bytes, size_t size) {
  Tls *tls = conn->tls;
  tls->rest = bytes;
  tls->left = size;
  tls->is_busy = true;
  int err = write_rest(conn);
  if (err) tls->is_busy = false;
  return err;
}

static bool tls_shutdown(Conn *conn) { return conn->tls->below->shutdown(conn); }

static void tls_close(Conn *conn) { conn->tls->below->close(conn); }

static const Transport TLS = {
    .read_start = tls_read_start,
    .read_stop = tls_read_stop,
    .try_write = tls_try_write,
    .write = tls_write,
    .shutdown = tls_shutdown,
    .close = tls_close,
};

uv_write_t *tls_request(Conn *conn) { return &conn->tls->request; }

bool tls_is_ready(const Conn *conn) { return conn->tls->is_ready; }

bool tls_is_writing(const Conn *conn) { return conn->tls->is_writing; }

static void end_write(Conn *conn, int status) {
  if (conn->tls->is_busy) {
    conn->tls->is_busy = false;
    conn_output_done(conn, status);
  } else if (conn->state == CONN_OPEN) {
    conn_end(conn, status);
  } else {
    conn_destroy(conn);
  }
}

void tls_written(Conn *conn, int status) {
  Tls *tls = conn->tls;
  tls->is_writing = false;
  buf_deinit(&tls->writing);
  if (status == 0) status = write_queued(conn);
  if (status == 0) status = write_rest(conn);
  if (status != 0) {
    end_write(conn, status);
    return;
  }
  if (tls->is_writing) return;
  if (tls->is_busy)
    end_write(conn, 0);
  else if (tls->is_finishing)
    conn_drained(conn);
}

bool tls_finish(Conn *conn) {
  Tls *tls = conn->tls;
  if (!tls->is_finishing && tls->is_ready && !tls->is_failed) {
    tls->is_finishing = true;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    int err = emit(conn);
    tls_take_error();
    if (err) conn_destroy(conn);
  }
  tls->is_finishing = true;
  return !tls->is_writing;
}

// --- Up: bytes that are plain ---

static void begin_serving(Conn *conn) {
  Tls *tls = conn->tls;
  TlsStats *stats = &conn->net->tls->stats;
  tls->is_ready = true;
  stats->handshakes++;
  if (SSL_session_reused(tls->ssl)) stats->resumed++;
  int err = write_rest(conn);
  if (err) conn_end(conn, err);
}

static void end_input(Conn *conn) {
  conn->tls->is_end_due = conn->is_held || conn->is_paused;
  if (!conn->tls->is_end_due) conn_read_end(conn, UV_EOF);
}

static void stop_reading(Conn *conn, int error) {
  Tls *tls = conn->tls;
  switch (error) {
    case SSL_ERROR_WANT_READ:
      break;
    case SSL_ERROR_ZERO_RETURN:
      tls->is_over = true;
      end_input(conn);
      break;
    default:
      fail(conn, tls_take_error());
  }
}

// One record at most. Returns whether there may be more.
static bool read_record(Conn *conn) {
  Tls *tls = conn->tls;
  TlsServer *server = conn->net->tls;
  size_t size = 0;
  ERR_clear_error();
  int result = SSL_read_ex(tls->ssl, server->received, sizeof server->received, &size);
  int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
  // Its answers go out first: the layers above write as well.
  if (result == 1 || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN) {
    int err = emit(conn);
    if (err) {
      conn_end(conn, err);
      return false;
    }
    if (!tls->is_ready && SSL_is_init_finished(tls->ssl)) begin_serving(conn);
  }
  if (result != 1) {
    stop_reading(conn, error);
    return false;
  }
  conn_input(conn, server->received, size);
  return conn->state == CONN_OPEN && !tls->is_over;
}

void tls_read(Conn *conn, const uint8_t *bytes, size_t size) {
  Tls *tls = conn->tls;
  if (tls->is_over) return;
  tls->in = bytes;
  tls->in_size = size;
  conn->net->tls->tickets->now_ms = net_now_ms(conn->net);
  while (read_record(conn)) continue;
  tls->in = NULL;
  tls->in_size = 0;
}

void tls_resume(Conn *conn) {
  if (conn->tls->is_end_due && conn->state == CONN_OPEN) end_input(conn);
}

void tls_give_up(Conn *conn) { fail(conn, "it takes too long"); }

int tls_end_status(const Conn *conn, int status) {
  bool is_cut = conn->state == CONN_OPEN && !conn->tls->is_over;
  return status == UV_EOF && is_cut ? UV_ECONNRESET : status;
}

// --- Birth and death ---

static bool refuse(Conn *conn) {
  tls_server_of(conn->net)->stats.refused++;
  log_info("refused: a TLS hello, and there is no certificate",
           log_str("address", conn->visitor ? conn->visitor->address : ""));
  conn_end(conn, UV_EPROTO);
  return false;
}

bool tls_accept(Conn *conn) {
  if (!net_has_tls(conn->net)) return refuse(conn);
  const TlsServer *server = conn->net->tls;
  SSL *ssl = SSL_new(server->context);
  BIO *bio = BIO_new(server->method);
  if (!ssl || !bio) {
    SSL_free(ssl);
    BIO_free(bio);
    tls_take_error();
    return refuse(conn);
  }
  BIO_set_data(bio, conn);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  conn->tls = mem_zalloc(sizeof *conn->tls);
  *conn->tls = (Tls){.ssl = ssl, .below = conn->transport};
  if (conn->visitor) memcpy(conn->tls->address, conn->visitor->address, ADDRESS_SIZE);
  conn->transport = &TLS;
  return true;
}

void tls_free(Conn *conn) {
  Tls *tls = conn->tls;
  if (!tls) return;
  SSL_free(tls->ssl);
  buf_deinit(&tls->queued);
  buf_deinit(&tls->writing);
  mem_free(tls);
  conn->tls = NULL;
}
