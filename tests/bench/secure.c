// The handshake uses the socket. Then memory replaces the socket, so that reading can
// stop in the middle of a record.
#include "secure.h"

#include <openssl/ssl.h>

struct Secure {
  SSL *ssl;
  BIO *in, *out;
};

static SSL_CTX *context(void) {
  static SSL_CTX *made;
  if (!made) made = SSL_CTX_new(TLS_client_method());
  if (!made) abort();
  return made;
}

Secure *secure_open(int fd) {
  Secure *secure = calloc(1, sizeof *secure);
  if (!secure) abort();
  secure->ssl = SSL_new(context());
  SSL_set_fd(secure->ssl, fd);
  if (SSL_connect(secure->ssl) != 1) {
    secure_close(secure);
    return NULL;
  }
  secure->in = BIO_new(BIO_s_mem());
  secure->out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(secure->in, -1);
  SSL_set_bio(secure->ssl, secure->in, secure->out);
  return secure;
}

void secure_close(Secure *secure) {
  if (!secure) return;
  SSL_free(secure->ssl);
  free(secure);
}

const Bytes *secure_encrypt(Secure *secure, const Bytes *plain) {
  static Bytes result;
  if (SSL_write(secure->ssl, plain->data, (int)plain->size) != (int)plain->size)
    abort();
  result.size = 0;
  size_t size = BIO_ctrl_pending(secure->out);
  if (BIO_read(secure->out, bytes_add(&result, size), (int)size) != (int)size) abort();
  return &result;
}

ssize_t secure_decrypt(Secure *secure, const uint8_t *bytes, size_t size,
                       uint8_t *out) {
  ssize_t total = 0;
  BIO_write(secure->in, bytes, (int)size);
  for (;;) {
    int got = SSL_read(secure->ssl, out + total, 1 << 14);
    if (got > 0) {
      total += got;
      continue;
    }
    bool is_more = SSL_get_error(secure->ssl, got) == SSL_ERROR_WANT_READ;
    return total > 0 || is_more ? total : -1;
  }
}
