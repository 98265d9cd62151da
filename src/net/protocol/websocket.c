// WebSockets: connections whose packets or lines travel in messages. They use the same
// groups, backlogs and ends as other connections.
//
// A connection has a frame reader only in the middle of a frame or message, so that an
// idle connection needs little memory.
#include "net/protocol/protocols.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/protocol/http/site.h"
#include "wire/websocket.h"

enum {
  SOCKET_SPARE_BYTES = 16 << 10,  // bytes that a message may have beyond max_payload
  SOCKET_PONGS_MAX = 4 << 10,     // bytes of pongs that may wait
  SOCKET_READERS_MAX = 16,        // readers kept for reuse
};

typedef struct Socket {
  WsReader *reader;      // reader; NULL between messages
  const uint8_t *bytes;  // rest of the message that is being passed up
  size_t left;
  bool is_handing_up;  // a message is being passed up, even if no bytes of it are left
  bool is_over;        // the other side has sent its close frame or broken a rule
  bool is_finished;    // the close frame has been written
  uint16_t code;       // code of the close frame; 0: derived from conn->close_code
  char *reason;        // text of the close frame; owned; NULL: none
  Buf pongs;           // pong frames that must be written
} Socket;

static Socket *socket_of(const Conn *conn) { return conn->speech; }

// --- The reader ---

static WsReader *take_reader(Conn *conn) {
  Socket *socket = socket_of(conn);
  List *readers = &web_of(conn->net)->readers;
  if (!socket->reader)
    socket->reader =
        readers->count > 0 ? readers->items[--readers->count] : ws_reader_new();
  return socket->reader;
}

static void give_reader_back(Conn *conn) {
  List *readers = &web_of(conn->net)->readers;
  if (readers->count < SOCKET_READERS_MAX)
    list_add(readers, socket_of(conn)->reader);
  else
    ws_reader_free(socket_of(conn)->reader);
  socket_of(conn)->reader = NULL;
}

static size_t unfinished(const Conn *conn) {
  const Socket *socket = socket_of(conn);
  return socket->reader ? ws_reader_held(socket->reader) : 0;
}

static void drop_input(Conn *conn) {
  ws_reader_free(socket_of(conn)->reader);
  socket_of(conn)->reader = NULL;
  socket_of(conn)->is_over = true;
  buf_deinit(&conn->in.bytes);
}

static bool is_begun(const Conn *conn) {
  return conn->in.bytes.size > 0 || socket_of(conn)->reader != NULL;
}

// Returns INPUT_CUT for a stream that ends without a close frame.
static InputEnd input_end(Conn *conn) {
  return socket_of(conn)->is_over ? INPUT_ENDS : INPUT_CUT;
}

// --- Ends ---

// Ends the connection because of a fault. Stores `code` for the close frame, because it
// is more exact than Perigee's Code.
static void fault(Conn *conn, uint16_t code, const char *text) {
  if (socket_of(conn)->code == 0) socket_of(conn)->code = code;
  conn_set_reason(conn, CODE_PROTOCOL, text);
  socket_of(conn)->is_over = true;
  if (!conn->is_known)
    conn_end(conn, END_ORDERLY);
  else if (code == WS_CODE_TOO_LARGE)
    conn_fault(conn, CODE_PAYLOAD_TOO_LARGE, text);
  else
    conn_fault(conn, CODE_PROTOCOL, text);
}

static void keep_reason(Conn *conn, const char *text) {
  socket_of(conn)->reason = mem_strdup(text);
}

static bool finish(Conn *conn) {
  Socket *socket = socket_of(conn);
  if (socket->is_finished) return false;
  socket->is_finished = true;
  uint16_t code = socket->code;
  if (code == 0 && conn->close_code < 0)
    code = WS_CODE_GOING_AWAY;
  else if (code == 0)
    code = ws_close_code((Code)conn->close_code, socket->reason != NULL);
  Buf frame = {0};
  ws_put_close(&frame, code, socket->reason);
  backlog_write_now(conn, frame.data, frame.size);
  buf_deinit(&frame);
  return conn->out.backlog || conn->state == CONN_CLOSED;
}

static void free_socket(Conn *conn) {
  Socket *socket = socket_of(conn);
  ws_reader_free(socket->reader);
  buf_deinit(&socket->pongs);
  mem_free(socket->reason);
  mem_free(socket);
  conn->speech = NULL;
}

// --- Input ---

static void hand_up_packets(Conn *conn) {
  Socket *socket = socket_of(conn);
  const NetEvents *events = &conn->net->events;
  while (socket->left > 0 && conn_takes_input(conn)) {
    Packet packet;
    int64_t taken =
        packet_read(socket->bytes, socket->left, conn->in.max_payload, &packet);
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
    events->packet(conn->net->data, conn->self.data, &packet);
  }
}

static void hand_up_line(Conn *conn) {
  Socket *socket = socket_of(conn);
  const char *text = (const char *)socket->bytes;
  size_t size = socket->left;
  if (size > 0 && text[size - 1] == '\n') size--;
  if (size > 0 && text[size - 1] == '\r') size--;
  socket->left = 0;
  if (size > conn->in.max_payload) {
    socket->is_over = true;
    conn_fault_at(conn, ERR_TOO_LARGE);
    return;
  }
  conn->net->events.line(conn->net->data, conn->self.data, text, size);
}

// Passes up the rest of the current message. Returns whether the whole message has been
// passed up.
static bool hand_up(Conn *conn) {
  Socket *socket = socket_of(conn);
  if (!socket->is_handing_up) return true;
  if (!conn_takes_input(conn)) return false;
  if (conn->in.framing == FRAMING_LINES)
    hand_up_line(conn);
  else
    hand_up_packets(conn);
  if (socket->left > 0 || socket->is_over) return false;
  socket->is_handing_up = false;
  return true;
}

// Begins a message. The type of the first message sets the framing of the connection.
static void on_message(Conn *conn, const WsEvent *event) {
  Socket *socket = socket_of(conn);
  socket->bytes = event->bytes;
  socket->left = event->size;
  socket->is_handing_up = true;
  if (!conn->is_known)
    conn_introduce(conn, event->is_text ? FRAMING_LINES : FRAMING_PACKETS);
  if (conn->state != CONN_OPEN) return;
  if (event->is_text != (conn->in.framing == FRAMING_LINES))
    fault(conn, WS_CODE_UNSUPPORTED, "text and binary messages do not mix");
}

static void on_ping(Conn *conn, const WsEvent *event) {
  Buf *pongs = &socket_of(conn)->pongs;
  if (conn->out.backlog && pongs->size > SOCKET_PONGS_MAX) return;
  uint8_t header[WS_HEADER_MAX];
  buf_append(pongs, header, ws_put_header(header, WS_PONG, event->size));
  buf_append(pongs, event->bytes, event->size);
}

// Writes the waiting pongs, unless the connection has a backlog.
static void write_pongs(Conn *conn) {
  Buf *pongs = &socket_of(conn)->pongs;
  if (pongs->size == 0 || conn->out.backlog || conn->state != CONN_OPEN) return;
  Buf frames = *pongs;
  *pongs = (Buf){0};
  backlog_write_now(conn, frames.data, frames.size);
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
      if (socket_of(conn)->code == 0) socket_of(conn)->code = event->code;
      socket_of(conn)->is_over = true;
      conn_end(conn, END_ORDERLY);
      break;
    case WS_EVENT_FAULT:
      fault(conn, event->code, event->text);
      break;
  }
}

// Handles the events of the reader until it has no more, or the connection takes no
// more input. Returns whether a message was complete.
static bool read_events(Conn *conn, WsReader *reader) {
  bool is_any = false;
  while (hand_up(conn) && conn_takes_input(conn) && !socket_of(conn)->is_over) {
    // A message may have one packet of the largest size, or many small packets.
    uint64_t limit = conn->is_known ? (uint64_t)conn->in.max_payload : 0;
    WsEvent event = ws_reader_next(reader, SOCKET_SPARE_BYTES + limit);
    if (event.type == WS_EVENT_NONE) break;
    is_any |= event.type == WS_EVENT_MESSAGE;
    on_event(conn, &event);
  }
  return is_any;
}

// Returns the number of bytes read.
static size_t read_bytes(Conn *conn, const uint8_t *bytes, size_t size) {
  Socket *socket = socket_of(conn);
  bool was_at_rest = !socket->reader;
  WsReader *reader = take_reader(conn);
  ws_reader_feed(reader, bytes, size);
  bool is_any = read_events(conn, reader);
  size_t unread = ws_reader_unread(reader);
  write_pongs(conn);
  if (conn->state != CONN_OPEN || socket->is_over) return size;
  if (!socket->is_handing_up && ws_reader_is_at_rest(reader)) give_reader_back(conn);
  inbox_settle(conn, was_at_rest || is_any);
  return size - unread;
}

static void resume(Conn *conn);

static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  if (conn->in.bytes.size > 0 || !conn_takes_input(conn)) {
    buf_append(&conn->in.bytes, bytes, size);
    resume(conn);
    return;
  }
  size_t done = read_bytes(conn, bytes, size);
  if (done < size) buf_append(&conn->in.bytes, bytes + done, size - done);
}

static void resume(Conn *conn) {
  if (!conn_takes_input(conn)) return;
  if (conn->in.bytes.size == 0 && !socket_of(conn)->reader) return;
  Buf in = conn->in.bytes;
  conn->in.bytes = (Buf){0};
  size_t done = read_bytes(conn, in.data, in.size);
  if (done < in.size) buf_append(&conn->in.bytes, in.data + done, in.size - done);
  buf_deinit(&in);
}

// --- Output ---

// Appends one message for each line.
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

// Copies the lines of the other buffers to `bufs[0]`, one message for each line.
static void gather_lines(Conn *conn, uv_buf_t *bufs, unsigned count) {
  Buf *scratch = &web_of(conn->net)->scratch;
  scratch->size = 0;
  for (unsigned i = 1; i <= count; i++)
    put_lines(scratch, (const uint8_t *)bufs[i].base, bufs[i].len);
  bufs[0] = uv_buf_init((char *)scratch->data, (unsigned)scratch->size);
}

// Puts the rest of a partly written message at the beginning of the backlog.
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

static int write_messages(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total) {
  uint8_t header[WS_HEADER_MAX];
  unsigned used = count + 1;
  if (conn->in.framing == FRAMING_LINES) {
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

// Inserts the header of a binary message at `start`; the message is the rest of
// `bytes`.
static void insert_header(Buf *bytes, size_t start) {
  uint8_t header[WS_HEADER_MAX];
  size_t size = bytes->size - start;
  size_t header_size = ws_put_header(header, WS_BINARY, size);
  buf_append(bytes, header, header_size);  // makes room for the header
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

static void wrap(Conn *conn, Buf *bytes, size_t start) {
  Buf *pongs = &socket_of(conn)->pongs;
  if (bytes->size > start && conn->in.framing == FRAMING_LINES)
    replace_lines(conn, bytes, start);
  else if (bytes->size > start)
    insert_header(bytes, start);
  if (pongs->size == 0 || socket_of(conn)->is_finished) return;
  buf_append(bytes, pongs->data, pongs->size);
  buf_deinit(pongs);
}

static void begin(Conn *conn) { conn->speech = mem_zalloc(sizeof(Socket)); }

const Protocol WEBSOCKET = {
    .name = TRANSPORT_WS,
    .open = begin,
    .input = input,
    .resume = resume,
    .is_begun = is_begun,
    .unfinished = unfinished,
    .drop_input = drop_input,
    .write = write_messages,
    .wrap = wrap,
    .input_end = input_end,
    .keep_reason = keep_reason,
    .finish = finish,
    .free = free_socket,
};
