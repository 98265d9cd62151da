// What the rest of net asks of the web: HTTP and WebSockets.
#pragma once

#include "base/buf.h"
#include "net/internal.h"

// web.c
/// Somebody has come to a port that serves more than packets.
void web_enter(Conn *conn, const ConnInfo *info);
/// The first bytes.
void web_sniff(Conn *conn, const uint8_t *bytes, size_t size);
/// Puts TLS around the transport of a conn whose first bytes are these; see tls_wrap.
void web_begin_tls(Conn *conn, const char *address, uint64_t due_ms,
                   const uint8_t *bytes, size_t size);
/// The handshake of TLS is done.
void web_ready(Conn *conn);
/// It is a visitor no more.
void web_leave(Conn *conn);
/// What net keeps for the web, made when it is first asked for.
Web *web_of(Net *net);
void web_free(Net *net);

// web_http.c
void http_begin(Conn *conn);
void http_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with requests that wait.
void http_resume(Conn *conn);
/// All that was written is out.
void http_drained(Conn *conn);
/// The other side has ended its stream. False when nothing is being answered, and the
/// connection may end.
bool http_outlives_end(Conn *conn);
void http_free(Conn *conn);

// web_socket.c
/// The opening handshake is over.
void socket_begin(Conn *conn);
void socket_input(Conn *conn, const uint8_t *bytes, size_t size);
/// Goes on with input that waited.
void socket_resume(Conn *conn);
/// Whether something was begun and is not whole.
bool socket_is_unfinished(const Conn *conn);
/// Returns the bytes that an unfinished message takes up.
size_t socket_held(const Conn *conn);
/// Frees input that has not been handed up, and stops reading.
void socket_drop_input(Conn *conn);
/// Whether the other side has said that it is the end.
bool socket_is_over(const Conn *conn);
/// Writes messages, `bufs[1]` to `bufs[count]`, of `total` bytes as one; `bufs[0]` is free.
/// Returns `total`, or UV_EAGAIN when nothing could be written, or another error.
int socket_try_write(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total);
/// Makes one of the messages from `start` to the end of `bytes`.
void socket_wrap(Conn *conn, Buf *bytes, size_t start);
/// What the close frame will say.
void socket_set_end(Conn *conn, Code code, const char *text);
/// Writes the close frame; false when it is out.
bool socket_finish(Conn *conn);
void socket_free(Conn *conn);
