// TLS: a transport around another transport, which carries the encrypted bytes. OpenSSL
// does not use the socket. It reads the bytes that have just arrived. It writes to a
// buffer that all connections share, because each call empties that buffer. Encrypted
// bytes that the transport below did not take wait in a buffer of the connection. No
// more messages are encrypted until these bytes have left, so that overflow can still
// drop messages. An idle connection has no buffers.
#include <openssl/err.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/transport/tls_internal.h"

enum {
  // Limit of waiting bytes, in case the other side causes output of OpenSSL itself
  // (such as
  // alerts) and does not read it.
  QUEUED_MAX = 128 << 10,
};

typedef struct Tls {
  Transport transport;
  Net *net;
  Transport *below;  // owned
  SSL *ssl;
  const uint8_t *in;  // received bytes that OpenSSL has not read
  size_t in_size;
  Buf queued;           // encrypted bytes that wait
  Buf writing;          // encrypted bytes that the transport below is writing
  const uint8_t *rest;  // bytes of `write` that must still be encrypted
  size_t left;
  bool is_ready;      // the handshake is complete
  bool is_reading;    // the user wants input
  bool is_writing;    // the transport below is writing `writing`
  bool is_busy;       // the bytes of `write` are being encrypted
  bool is_over;       // input has ended, by close_notify or a failure
  bool is_failed;     // output has ended, too
  bool is_ended;      // read_end has been reported
  bool is_finishing;  // close_notify has been sent
  bool is_closed;     // the user has closed the transport
  int end_status;     // status of an end that must still be reported; 0: none
  Timer timer;        // deadline of the handshake, then of reporting the end
  char address[ADDRESS_SIZE];
} Tls;

static Tls *tls_of(Transport *transport) { return (Tls *)transport; }

static TlsServer *server_of(const Tls *tls) { return tls->net->tls; }

// --- OpenSSL's side ---

static int bio_read(BIO *bio, char *to, size_t size, size_t *done) {
  Tls *tls = BIO_get_data(bio);
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
  const Tls *tls = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  buf_append(&server_of(tls)->out, bytes, size);
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

static BIO_METHOD *make_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "conn");
  if (!method) return NULL;
  BIO_meth_set_read_ex(method, bio_read);
  BIO_meth_set_write_ex(method, bio_write);
  BIO_meth_set_ctrl(method, bio_control);
  BIO_meth_set_create(method, bio_create);
  return method;
}

// --- Encrypting ---

// The part of an array of buffers that must still be encrypted.
typedef struct Gather {
  const uv_buf_t *bufs;
  unsigned count;
  size_t at;  // offset in the first buffer
} Gather;

// Stores the address of the next contiguous bytes and returns their number. Copies
// small buffers into one piece, so that they share a record.
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

static bool can_encrypt(const Tls *tls) {
  return tls->is_ready && !tls->is_failed && !tls->is_finishing && !tls->is_writing &&
         tls->queued.size == 0;
}

// Encrypts about WRITE_CHUNK_BYTES. Returns the number of encrypted bytes, 0 if none
// are left, or an error.
static int encrypt(Tls *tls, Gather *gather) {
  size_t done = 0;
  while (done < WRITE_CHUNK_BYTES) {
    const uint8_t *bytes;
    size_t size = gather_next(gather, server_of(tls)->gathered, &bytes), written;
    if (size == 0) break;
    ERR_clear_error();
    if (SSL_write_ex(tls->ssl, bytes, size, &written) != 1) {
      server_of(tls)->out.size = 0;
      return UV_EPROTO;
    }
    done += size;
  }
  return (int)done;
}

// --- Down: encrypted bytes ---

// Gives the transport below queued bytes and the next part of `write`, unless it is
// still writing. Returns 0 or an error.
static int write_next(Tls *tls) {
  if (tls->is_writing) return 0;
  if (tls->left > 0 && can_encrypt(tls)) {
    uv_buf_t buf = uv_buf_init((char *)tls->rest, (unsigned)tls->left);
    Gather gather = {.bufs = &buf, .count = 1};
    int done = encrypt(tls, &gather);
    if (done < 0) return done;
    tls->rest += done;
    tls->left -= (size_t)done;
    Buf *out = &server_of(tls)->out;
    buf_append(&tls->queued, out->data, out->size);
    out->size = 0;
  }
  if (tls->queued.size == 0) return 0;
  Buf emptied = tls->writing;
  tls->writing = tls->queued;
  tls->queued = emptied;
  int err = transport_write(tls->below, tls->writing.data, tls->writing.size);
  tls->is_writing = err == 0;
  return err;
}

// Gives the transport below OpenSSL's output. Returns 0 or an error.
static int emit(Tls *tls) {
  Buf *out = &server_of(tls)->out;
  size_t done = 0;
  int err = 0;
  if (out->size == 0) return 0;
  if (!tls->is_writing && tls->queued.size == 0) {
    uv_buf_t buf = uv_buf_init((char *)out->data, (unsigned)out->size);
    int written = transport_try_write(tls->below, &buf, 1);
    if (written > 0) done = (size_t)written;
    if (written < 0 && written != UV_EAGAIN) err = written;
  }
  if (!err && done < out->size) {
    buf_append(&tls->queued, out->data + done, out->size - done);
    err = tls->queued.size > QUEUED_MAX ? UV_ENOBUFS : write_next(tls);
  }
  out->size = 0;
  return err;
}

// Reports the end of input to the user. If the user has ended its output, the report of
// an orderly end waits until the last bytes of that output have left.
static void end(Tls *tls, int status) {
  bool is_orderly = status == UV_EOF || status == UV_ECONNABORTED;
  if (tls->is_closed || (tls->is_ended && is_orderly)) return;
  if (is_orderly && tls->is_finishing && tls->is_writing) {
    tls->end_status = status;
    return;
  }
  tls->is_ended = true;
  tls->transport.user->read_end(tls->transport.user_data, status);
}

// Ends the connection because of a fault, and logs the fault.
static void fail(Tls *tls, const char *text) {
  if (!tls->is_ready) server_of(tls)->stats.failed++;
  tls->is_over = tls->is_failed = true;
  emit(tls);  // sends the alert
  log_info(tls->is_ready ? "TLS failed" : "TLS handshake failed",
           log_str("address", tls->address), log_str("error", text));
  end(tls, UV_EPROTO);
}

// --- Down: the calls of the user ---

static void on_end_due(void *data, uint64_t now_ms) {
  (void)now_ms;
  Tls *tls = data;
  if (tls->is_reading) end(tls, tls->end_status);
}

static void tls_read_start(Transport *transport) {
  Tls *tls = tls_of(transport);
  tls->is_reading = true;
  transport_read_start(tls->below);
  if (tls->end_status && !tls->is_ended)
    timers_set(tls->net->timers, &tls->timer, net_now_ms(tls->net), on_end_due, tls);
}

static void tls_read_stop(Transport *transport) {
  tls_of(transport)->is_reading = false;
  transport_read_stop(tls_of(transport)->below);
}

static int tls_try_write(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  Tls *tls = tls_of(transport);
  Gather gather = {.bufs = bufs, .count = count};
  int total = 0;
  while (!tls->is_busy && can_encrypt(tls)) {
    int done = encrypt(tls, &gather);
    int err = done < 0 ? done : emit(tls);
    if (err < 0) return err;
    if (done == 0) break;
    total += done;
  }
  return total > 0 ? total : UV_EAGAIN;
}

static int tls_write(Transport *transport, uint8_t *bytes, size_t size) {
  Tls *tls = tls_of(transport);
  tls->rest = bytes;
  tls->left = size;
  tls->is_busy = true;
  int err = write_next(tls);
  if (err) tls->is_busy = false;
  return err;
}

static bool tls_shutdown(Transport *transport) {
  Tls *tls = tls_of(transport);
  if (!tls->is_finishing && tls->is_ready && !tls->is_failed) {
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    emit(tls);  // the connection ends in any case, so the error is irrelevant
  }
  tls->is_finishing = true;
  return !tls->is_writing && transport_shutdown(tls->below);
}

static void tls_close(Transport *transport) {
  Tls *tls = tls_of(transport);
  tls->is_closed = true;
  timers_stop(tls->net->timers, &tls->timer);
  transport_close(tls->below);
}

static const TransportKind TLS = {
    .name = TRANSPORT_TCP,
    .is_encrypted = true,
    .read_start = tls_read_start,
    .read_stop = tls_read_stop,
    .try_write = tls_try_write,
    .write = tls_write,
    .shutdown = tls_shutdown,
    .close = tls_close,
};

// --- Up: reports of the transport below ---

static void begin_serving(Tls *tls) {
  TlsStats *stats = &server_of(tls)->stats;
  tls->is_ready = true;
  stats->handshakes++;
  if (SSL_session_reused(tls->ssl)) stats->resumed++;
  timers_stop(tls->net->timers, &tls->timer);
  tls->transport.user->ready(tls->transport.user_data);
  int err = write_next(tls);
  if (err) end(tls, err);
}

// Reads at most one record. Returns whether more records may follow. If the user does
// not read, keeps the report of the other side's close_notify for tls_read_start.
static bool read_record(Tls *tls) {
  TlsServer *server = server_of(tls);
  size_t size = 0;
  ERR_clear_error();
  int result = SSL_read_ex(tls->ssl, server->received, sizeof server->received, &size);
  int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);
  bool is_over = error == SSL_ERROR_ZERO_RETURN;
  if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && !is_over) {
    fail(tls, tls_take_error());
    return false;
  }
  int err = emit(tls);  // must precede output of the layers above
  if (err) {
    end(tls, err);
    return false;
  }
  if (!tls->is_ready && SSL_is_init_finished(tls->ssl)) begin_serving(tls);
  if (tls->is_closed) return false;
  tls->is_over |= is_over;
  if (error == SSL_ERROR_NONE)
    tls->transport.user->read(tls->transport.user_data, server->received, size);
  else if (is_over && tls->is_reading)
    end(tls, UV_EOF);
  else if (is_over)
    tls->end_status = UV_EOF;
  return error == SSL_ERROR_NONE && !tls->is_closed && !tls->is_over;
}

static void on_read(void *user, const uint8_t *bytes, size_t size) {
  Tls *tls = user;
  if (tls->is_over || tls->is_closed) return;
  tls->in = bytes;
  tls->in_size = size;
  server_of(tls)->tickets->now_ms = net_now_ms(tls->net);
  while (read_record(tls)) continue;
  tls->in = NULL;
  tls->in_size = 0;
}

static void on_used_share(void *user) {
  const Tls *tls = user;
  if (!tls->is_closed) tls->transport.user->used_share(tls->transport.user_data);
}

static void on_read_end(void *user, int status) {
  Tls *tls = user;
  end(tls, status == UV_EOF && !tls->is_over ? UV_ECONNABORTED : status);
}

static void on_written(void *user, int status) {
  Tls *tls = user;
  tls->is_writing = false;
  buf_deinit(&tls->writing);
  if (tls->is_closed) return;
  if (status == 0) status = write_next(tls);
  if (status != 0 && !tls->is_busy) {
    end(tls, status);
    return;
  }
  if (status == 0 && (tls->is_writing || (!tls->is_busy && !tls->is_finishing))) return;
  tls->is_busy = false;
  tls->transport.user->written(tls->transport.user_data, status);
  if (!tls->is_closed && tls->is_finishing && tls->end_status)
    end(tls, tls->end_status);
}

static void on_closed(void *user) {
  Tls *tls = user;
  const TransportUser *above = tls->transport.user;
  void *above_data = tls->transport.user_data;
  SSL_free(tls->ssl);
  buf_deinit(&tls->queued);
  buf_deinit(&tls->writing);
  mem_free(tls);
  above->closed(above_data);
}

// --- Creation ---

static void on_handshake_due(void *data, uint64_t now_ms) {
  (void)now_ms;
  fail(data, "it takes too long");
}

static SSL *make_ssl(TlsServer *server, Tls *tls) {
  if (!server->method) server->method = make_method();
  SSL *ssl = SSL_new(server->context);
  BIO *bio = server->method ? BIO_new(server->method) : NULL;
  if (!ssl || !bio) {
    SSL_free(ssl);
    BIO_free(bio);
    return NULL;
  }
  BIO_set_data(bio, tls);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  return ssl;
}

Transport *tls_wrap(Net *net, Transport *below, const char *address, uint64_t due_ms) {
  static const TransportUser USER = {
      .read = on_read,
      .used_share = on_used_share,
      .read_end = on_read_end,
      .written = on_written,
      .closed = on_closed,
  };
  TlsServer *server = tls_server_of(net);
  Tls *tls = mem_zalloc(sizeof *tls);
  SSL *ssl = server->context ? make_ssl(server, tls) : NULL;
  if (!ssl) {
    mem_free(tls);
    server->stats.refused++;
    log_info("refused: a TLS hello, and there is no certificate",
             log_str("address", address));
    return NULL;
  }
  *tls = (Tls){.transport = {.kind = &TLS},
               .net = net,
               .below = below,
               .ssl = ssl,
               .is_reading = true};
  memcpy(tls->address, address, ADDRESS_SIZE);
  below->user = &USER;
  below->user_data = tls;
  if (due_ms > 0) timers_set(net->timers, &tls->timer, due_ms, on_handshake_due, tls);
  return &tls->transport;
}
