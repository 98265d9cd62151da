// WebSockets: connections whose packets or lines come and go in messages. In between they
// are in groups, have backlogs and are closed like all others.
//
// What reads frames is with a connection only while it is in the middle of something, so
// that one that is idle takes up next to nothing.
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/protocol/web_internal.h"

struct Socket {
  WsReader *reader;      // NULL at rest
  const uint8_t *bytes;  // what is left of the message that is being handed up
  size_t left;
  bool is_text;        // it
  bool is_handing_up;  // there is one, even if nothing is left
  bool is_over;        // the other side has ended it, or broke a rule
  bool is_finished;    // the close frame is written
  uint16_t code;       // of it; 0: not decided
  char *text;          // of it; owned, or NULL
  Buf pongs;           // frames
};

void socket_begin(Conn *conn) {
  conn->protocol = PROTOCOL_WEBSOCKET;
  conn->socket = mem_zalloc(sizeof *conn->socket);
}

// --- The reader ---

static WsReader *take_reader(Conn *conn) {
  Socket *socket = conn->socket;
  List *readers = &web_of(conn->net)->readers;
  if (!socket->reader)
    socket->reader =
        readers->count > 0 ? readers->items[--readers->count] : ws_reader_new();
  return socket->reader;
}

static void give_reader_back(Conn *conn) {
  List *readers = &web_of(conn->net)->readers;
  if (readers->count < SOCKET_READERS_MAX)
    list_add(readers, conn->socket->reader);
  else
    ws_reader_free(conn->socket->reader);
  conn->socket->reader = NULL;
}

size_t socket_held(const Conn *conn) {
  const Socket *socket = conn->socket;
  return socket->reader ? ws_reader_held(socket->reader) : 0;
}

void socket_drop_input(Conn *conn) {
  ws_reader_free(conn->socket->reader);
  conn->socket->reader = NULL;
  conn->socket->is_over = true;
  buf_deinit(&conn->in);
}

bool socket_is_unfinished(const Conn *conn) { return conn->socket->reader != NULL; }

bool socket_is_over(const Conn *conn) { return conn->socket->is_over; }

// --- Ends ---

static void set_end(Socket *socket, uint16_t code, const char *text) {
  if (socket->code == 0) socket->code = code;
  if (socket->text || !text) return;
  socket->text = mem_strdup(text);
}

void socket_set_end(Conn *conn, Code code, const char *text) {
  set_end(conn->socket, ws_close_code(code, text != NULL), text);
}

// The close frame says more exactly what it was than Perigee's own codes do.
static void fault(Conn *conn, uint16_t code, const char *text) {
  set_end(conn->socket, code, text);
  conn->socket->is_over = true;
  if (!conn->is_known)
    conn_end(conn, 0);
  else if (code == WS_CODE_TOO_LARGE)
    conn_fault(conn, CODE_PAYLOAD_TOO_LARGE, text);
  else
    conn_fault(conn, CODE_PROTOCOL, text);
}

static void on_close(Conn *conn, uint16_t code) {
  set_end(conn->socket, code, NULL);
  conn->socket->is_over = true;
  conn_end(conn, 0);
}

bool socket_finish(Conn *conn) {
  Socket *socket = conn->socket;
  if (socket->is_finished) return false;
  socket->is_finished = true;
  Buf frame = {0};
  ws_put_close(&frame, socket->code ? socket->code : WS_CODE_GOING_AWAY, socket->text);
  uv_buf_t buf = uv_buf_init((char *)frame.data, (unsigned)frame.size);
  int written =
      conn->backlog ? UV_EAGAIN : transport_try_write(conn->transport, &buf, 1);
  size_t done = written > 0 ? (size_t)written : 0;
  bool is_waiting = (written >= 0 || written == UV_EAGAIN) && done < frame.size;
  if (is_waiting) {
    backlog_take_rest(conn, frame.data + done, frame.size - done);
    backlog_pump(conn);
  }
  buf_deinit(&frame);
  return is_waiting;
}

void socket_free(Conn *conn) {
  Socket *socket = conn->socket;
  if (!socket) return;
  ws_reader_free(socket->reader);
  buf_deinit(&socket->pongs);
  mem_free(socket->text);
  mem_free(socket);
  conn->socket = NULL;
}

// --- Input ---

static void hand_up_packets(Conn *conn) {
  Socket *socket = conn->socket;
  const NetEvents *events = &conn->net->events;
  while (socket->left > 0 && conn_takes_input(conn)) {
    Packet packet;
    int64_t taken =
        packet_read(socket->bytes, socket->left, conn->max_payload, &packet);
    if (taken < 0) {
      socket->is_over = true;
      conn_fault_at(conn, (int)taken);
      return;
    }
    if (taken == 0) {
      fault(conn, WS_CODE_PROTOCOL, "a packet is not whole in its message");
      return;
    }
    socket->bytes += taken;
    socket->left -= (size_t)taken;
    events->packet(conn->net->data, conn->data, &packet);
  }
}

static void hand_up_line(Conn *conn) {
  Socket *socket = conn->socket;
  const char *text = (const char *)socket->bytes;
  size_t size = socket->left;
  if (size > 0 && text[size - 1] == '\n') size--;
  if (size > 0 && text[size - 1] == '\r') size--;
  socket->left = 0;
  if (size > conn->max_payload) {
    socket->is_over = true;
    conn_fault_at(conn, ERR_TOO_LARGE);
    return;
  }
  conn->net->events.line(conn->net->data, conn->data, text, size);
}

// Goes on with the message under way; whether it is done.
static bool hand_up(Conn *conn) {
  Socket *socket = conn->socket;
  if (!socket->is_handing_up) return true;
  if (!conn_takes_input(conn)) return false;
  if (conn->framing == FRAMING_LINES)
    hand_up_line(conn);
  else
    hand_up_packets(conn);
  if (socket->left > 0 || socket->is_over) return false;
  socket->is_handing_up = false;
  return true;
}

// The first message says what the peer speaks.
static void on_message(Conn *conn, const WsEvent *event) {
  Socket *socket = conn->socket;
  socket->bytes = event->bytes;
  socket->left = event->size;
  socket->is_handing_up = true;
  if (!conn->is_known)
    conn_introduce(conn, event->is_text ? FRAMING_LINES : FRAMING_PACKETS);
  if (conn->state != CONN_OPEN) return;
  if (event->is_text != (conn->framing == FRAMING_LINES))
    fault(conn, WS_CODE_UNSUPPORTED, "text and binary messages do not mix");
}

static void on_ping(Conn *conn, const WsEvent *event) {
  Buf *pongs = &conn->socket->pongs;
  if (conn->backlog && pongs->size > SOCKET_PONGS_MAX) return;
  uint8_t header[WS_HEADER_MAX];
  buf_append(pongs, header, ws_put_header(header, WS_PONG, event->size));
  buf_append(pongs, event->bytes, event->size);
}

// While others are being written they wait for their turn.
static void write_pongs(Conn *conn) {
  Buf *pongs = &conn->socket->pongs;
  if (pongs->size == 0 || conn->backlog || conn->state != CONN_OPEN) return;
  Buf frames = *pongs;
  *pongs = (Buf){0};
  conn_write_now(conn, frames.data, frames.size);
  buf_deinit(&frames);
}

static void on_event(Conn *conn, const WsEvent *event) {
  switch (event->type) {
    case WS_EVENT_NONE:
      break;
    case WS_EVENT_MESSAGE:
      on_message(conn, event);
      break;
    case WS_EVENT_PING:
      on_ping(conn, event);
      break;
    case WS_EVENT_CLOSE:
      on_close(conn, event->code);
      break;
    case WS_EVENT_FAULT:
      fault(conn, event->code, event->text);
      break;
  }
}

// A message holds as much as one packet of the largest size, and many small ones.
static uint64_t message_limit(const Conn *conn) {
  return SOCKET_SPARE_BYTES + (conn->is_known ? (uint64_t)conn->max_payload : 0);
}

// Reads until there is nothing left or the connection takes no more. Returns whether
// a message was finished.
static bool read_events(Conn *conn, WsReader *reader) {
  bool is_any = false;
  while (hand_up(conn) && conn_takes_input(conn) && !conn->socket->is_over) {
    WsEvent event = ws_reader_next(reader, message_limit(conn));
    if (event.type == WS_EVENT_NONE) break;
    is_any |= event.type == WS_EVENT_MESSAGE;
    on_event(conn, &event);
  }
  return is_any;
}

// Returns how many of the bytes were taken.
static size_t read_bytes(Conn *conn, const uint8_t *bytes, size_t size) {
  Socket *socket = conn->socket;
  bool was_at_rest = !socket->reader;
  WsReader *reader = take_reader(conn);
  ws_reader_feed(reader, bytes, size);
  bool is_any = read_events(conn, reader);
  size_t unread = ws_reader_unread(reader);
  write_pongs(conn);
  if (conn->state != CONN_OPEN || socket->is_over) return size;
  if (!socket->is_handing_up && ws_reader_is_at_rest(reader)) give_reader_back(conn);
  conn_settle(conn, was_at_rest || is_any);
  return size - unread;
}

void socket_input(Conn *conn, const uint8_t *bytes, size_t size) {
  if (conn->in.size > 0 || !conn_takes_input(conn)) {
    buf_append(&conn->in, bytes, size);
    socket_resume(conn);
    return;
  }
  size_t done = read_bytes(conn, bytes, size);
  if (done < size) buf_append(&conn->in, bytes + done, size - done);
}

void socket_resume(Conn *conn) {
  if (!conn_takes_input(conn)) return;
  if (conn->in.size == 0 && !conn->socket->reader) return;
  Buf in = conn->in;
  conn->in = (Buf){0};
  size_t done = read_bytes(conn, in.data, in.size);
  if (done < in.size) buf_append(&conn->in, in.data + done, in.size - done);
  buf_deinit(&in);
}

// --- Output ---

// Appends a message for each line.
static void put_lines(Buf *out, const uint8_t *bytes, size_t size) {
  while (size > 0) {
    const uint8_t *end = memchr(bytes, '\n', size);
    size_t length = end ? (size_t)(end - bytes) : size;
    ws_put_text(out, (const char *)bytes, length);
    size_t taken = length + (end != NULL);
    bytes += taken;
    size -= taken;
  }
}

// Puts in `bufs[0]` all that the others have, a message for each line.
static void gather_lines(Conn *conn, uv_buf_t *bufs, unsigned count) {
  Buf *scratch = &web_of(conn->net)->scratch;
  scratch->size = 0;
  for (unsigned i = 1; i <= count; i++)
    put_lines(scratch, (const uint8_t *)bufs[i].base, bufs[i].len);
  bufs[0] = uv_buf_init((char *)scratch->data, (unsigned)scratch->size);
}

// What the socket did not take of a message has to follow before anything else.
static void keep_rest(Conn *conn, const uv_buf_t *bufs, unsigned count,
                      size_t written) {
  for (unsigned i = 0; i < count; i++) {
    size_t skipped = written < bufs[i].len ? written : bufs[i].len;
    written -= skipped;
    if (skipped < bufs[i].len)
      backlog_take_rest(conn, (const uint8_t *)bufs[i].base + skipped,
                        bufs[i].len - skipped);
  }
}

int socket_try_write(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total) {
  uint8_t header[WS_HEADER_MAX];
  unsigned used = count + 1;
  if (conn->framing == FRAMING_LINES) {
    gather_lines(conn, bufs, count);
    used = 1;
  } else {
    bufs[0] =
        uv_buf_init((char *)header, (unsigned)ws_put_header(header, WS_BINARY, total));
  }
  size_t size = 0;
  for (unsigned i = 0; i < used; i++) size += bufs[i].len;
  int written = transport_try_write(conn->transport, bufs, used);
  if (written < 0) return written;
  if ((size_t)written < size) keep_rest(conn, bufs, used, (size_t)written);
  return (int)total;
}

// Puts a header before what follows `start`.
static void insert_header(Buf *bytes, size_t start) {
  uint8_t header[WS_HEADER_MAX];
  size_t size = bytes->size - start;
  size_t header_size = ws_put_header(header, WS_BINARY, size);
  buf_append(bytes, header, header_size);  // makes room
  memmove(bytes->data + start + header_size, bytes->data + start, size);
  memcpy(bytes->data + start, header, header_size);
}

static void replace_lines(Conn *conn, Buf *bytes, size_t start) {
  Buf *scratch = &web_of(conn->net)->scratch;
  scratch->size = 0;
  put_lines(scratch, bytes->data + start, bytes->size - start);
  bytes->size = start;
  buf_append(bytes, scratch->data, scratch->size);
}

void socket_wrap(Conn *conn, Buf *bytes, size_t start) {
  Buf *pongs = &conn->socket->pongs;
  if (bytes->size > start && conn->framing == FRAMING_LINES)
    replace_lines(conn, bytes, start);
  else if (bytes->size > start)
    insert_header(bytes, start);
  if (pongs->size == 0 || conn->socket->is_finished) return;
  buf_append(bytes, pongs->data, pongs->size);
  buf_deinit(pongs);
}
