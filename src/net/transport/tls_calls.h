// What the rest of net asks of TLS.
#pragma once

#include "net/internal.h"
#include "wire/reader.h"

enum { TLS_FIRST_BYTE = 0x16 };  // of a record of its handshake

// tls.c
/// Puts TLS between the conn, which has read nothing yet, and its transport. False
/// without a certificate; then the conn has ended.
bool tls_accept(Conn *conn);
/// Whether the handshake is done.
bool tls_is_ready(const Conn *conn);
/// Ends it: the handshake takes too long.
void tls_give_up(Conn *conn);
/// Encrypted bytes have arrived.
void tls_read(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with what waited while the conn was held or paused.
void tls_resume(Conn *conn);
/// What the end of what arrives means: an end that was not announced is an error.
int tls_end_status(const Conn *conn, int status);
/// As conn_written, of encrypted bytes.
void tls_written(Conn *conn, int status);
/// Whether the transport below has not written all of it.
bool tls_is_writing(const Conn *conn);
/// Says that nothing more comes. False while that is not out; then conn_drained is called
/// again.
bool tls_finish(Conn *conn);
/// For the transport below.
uv_write_t *tls_request(Conn *conn);
void tls_free(Conn *conn);
// tls_server.c
/// Returns whether the certificate in use is for this name.
bool tls_has_name(const Net *net, Text name);
void tls_server_free(Net *net);
