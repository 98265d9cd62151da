// The protocol of native clients: packets back to back, or lines of text.
#include "net/protocol/protocols.h"

#include <string.h>

#include "base/err.h"
#include "net/conn.h"

static bool is_lines(const Conn *conn) { return conn->in.framing == FRAMING_LINES; }

// Pass up whole packets or lines, and return the number of bytes used.
static size_t read_packets(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  size_t done = 0;
  while (conn_takes_input(conn)) {
    Packet packet;
    int64_t taken =
        packet_read(bytes + done, size - done, conn->in.max_payload, &packet);
    if (taken < 0) conn_fault_at(conn, (int)taken);
    if (taken <= 0) break;
    done += (size_t)taken;
    net->events.packet(net->data, conn->self.data, &packet);
  }
  return done;
}

static size_t read_lines(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  Inbox *in = &conn->in;
  size_t done = 0;
  while (conn_takes_input(conn)) {
    const uint8_t *start = bytes + done;
    size_t left = size - done;
    const uint8_t *end = memchr(start + in->scanned, '\n', left - in->scanned);
    size_t length = end ? (size_t)(end - start) : left;
    if (length > 0 && start[length - 1] == '\r') length--;
    in->scanned = end ? 0 : (uint32_t)left;
    if (length > in->max_payload) {
      conn_fault_at(conn, ERR_TOO_LARGE);
      break;
    }
    if (!end) break;
    done += (size_t)(end - start) + 1;
    net->events.line(net->data, conn->self.data, (const char *)start, length);
  }
  return done;
}

static size_t read_bytes(Conn *conn, const uint8_t *bytes, size_t size) {
  return is_lines(conn) ? read_lines(conn, bytes, size)
                        : read_packets(conn, bytes, size);
}

// Settles the inbox. People type slowly, so a line has a deadline only if it is longer
// than NET_TYPED_BYTES.
static void settle(Conn *conn, bool is_new) {
  bool was_typed = is_lines(conn) && conn->in.counted <= NET_TYPED_BYTES;
  inbox_settle(conn, is_new || was_typed);
}

// Passes up whole packets or lines, and keeps the unfinished input in the inbox. The
// inbox grows only with received bytes; a length field alone does not make it grow.
static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  Buf *in = &conn->in.bytes;
  bool was_empty = in->size == 0;
  size_t done;
  if (was_empty) {
    done = read_bytes(conn, bytes, size);
    if (done < size) buf_append(in, bytes + done, size - done);
  } else {
    buf_append(in, bytes, size);
    done = read_bytes(conn, in->data, in->size);
    buf_consume(in, done);
  }
  settle(conn, was_empty || done > 0);
}

static void resume(Conn *conn) {
  Buf *in = &conn->in.bytes;
  if (in->size == 0) return;
  size_t done = read_bytes(conn, in->data, in->size);
  buf_consume(in, done);
  settle(conn, done > 0);
}

static bool is_begun(const Conn *conn) {
  return conn->in.bytes.size > (is_lines(conn) ? NET_TYPED_BYTES : 0);
}

// Returns the number of unfinished bytes. While reading is stopped, further bytes do
// not count, because they may be whole packets.
static size_t unfinished(const Conn *conn) {
  size_t size = conn->in.bytes.size;
  return conn_takes_input(conn) || size < conn->in.counted ? size : conn->in.counted;
}

static void drop_input(Conn *conn) { buf_deinit(&conn->in.bytes); }

// Handles the end of the stream. Accepts a text peer's last line without an end of
// line.
static InputEnd input_end(Conn *conn) {
  static const uint8_t newline = '\n';
  if (conn->in.bytes.size == 0) return INPUT_ENDS;
  if (!is_lines(conn)) return INPUT_CUT;
  if (conn_takes_input(conn)) input(conn, &newline, 1);
  return INPUT_ENDS;
}

static void begin(Conn *conn) { conn_introduce(conn, (Framing)conn->in.framing); }

const Protocol NATIVE = {
    .open = begin,
    .input = input,
    .resume = resume,
    .is_begun = is_begun,
    .unfinished = unfinished,
    .drop_input = drop_input,
    .input_end = input_end,
};
