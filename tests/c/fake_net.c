// See fake_net.h. Nothing is ever freed before net_free, so ids are plain indices and a
// test may look at a connection after its end.
#include "fake_net.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/admin.h"
#include "net/udp.h"
#include "os/child.h"

enum { CONNS_MAX = 16384, GROUPS_MAX = 8192, START_MS = 1000000 };

typedef struct Input {
  struct Input *next;
  Packet packet;
  size_t size;
  uint8_t bytes[];
} Input;

typedef struct SentNode {
  struct SentNode *next;
  Sent sent;
  uint8_t bytes[];
} SentNode;

typedef struct FakeConn {
  void *data;
  Framing framing;
  bool is_stale, is_closed, is_throttled;
  int holds;
  uint32_t max_payload;
  uint32_t writes;
  NetSent total;
  NetCounter *counter;
  Input *inputs;
  SentNode *sent, **sent_end, *next;
} FakeConn;

typedef struct FakeGroup {
  bool is_open;
  uint32_t tag;
  Buf members;  // list of ConnId
} FakeGroup;

struct Net {
  NetEvents events;
  void *data;
  Timers timers;
  FakeConn conns[CONNS_MAX];
  uint32_t conn_count;
  FakeGroup groups[GROUPS_MAX];
  uint32_t group_count;
  uint64_t group_writes;
  uint64_t now_us;
};

Net *net_new(const NetLimits *limits, const NetEvents *events, void *data) {
  (void)limits;
  Net *net = mem_zalloc(sizeof *net);
  net->events = *events;
  net->data = data;
  net->now_us = (uint64_t)START_MS * 1000;
  return net;
}

static void free_conn(FakeConn *conn) {
  while (conn->inputs) {
    Input *next = conn->inputs->next;
    mem_free(conn->inputs);
    conn->inputs = next;
  }
  while (conn->sent) {
    SentNode *next = conn->sent->next;
    mem_free(conn->sent);
    conn->sent = next;
  }
}

void net_free(Net *net) {
  for (uint32_t i = 1; i <= net->conn_count; i++) free_conn(&net->conns[i]);
  for (uint32_t i = 1; i <= net->group_count; i++) buf_deinit(&net->groups[i].members);
  timers_deinit(&net->timers);
  mem_free(net);
}

uint64_t net_now_ms(const Net *net) { return net->now_us / 1000; }
uint64_t net_clock_us(const Net *net) { return net->now_us; }
// Returns false, because the classes of events do not apply to a simulated net.
bool net_is_simulated(const Net *net) { return net == NULL; }
uint64_t net_unix_us(const Net *net) { return 1700000000000000 + net->now_us; }

void net_random(Net *net, void *bytes, size_t size) {
  (void)net;
  randombytes_buf(bytes, size);
}

Timers *net_timers(Net *net) { return &net->timers; }

uint16_t net_udp_offer(Net *net, ConnId conn, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]) {
  (void)net, (void)conn, (void)peer, (void)key;
  return 0;
}

void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count) {
  (void)net, (void)hashes, (void)count;
}

static FakeConn *find(Net *net, ConnId id) {
  assert(id <= net->conn_count);
  return id && !net->conns[id].is_stale ? &net->conns[id] : NULL;
}

// --- Written messages ---

// Returns the size of the first packet in `bytes`, or of the line.
static size_t record(FakeConn *conn, const Out *out, GroupId group,
                     const uint8_t *bytes, size_t size) {
  SentNode *node = mem_zalloc(sizeof *node + size);
  node->sent = (Sent){
      .priority = out->priority, .flags = out->flags, .key = out->key, .group = group};
  memcpy(node->bytes, bytes, size);
  if (conn->framing == FRAMING_PACKETS) {
    int64_t used = packet_read(node->bytes, size, UINT32_MAX, &node->sent.packet);
    assert(used > 0);
    size = (size_t)used;
  } else {
    assert(size > 0 && bytes[size - 1] == '\n');
    node->sent.line = (Text){(char *)node->bytes, (uint32_t)size - 1};
  }
  *conn->sent_end = node;
  conn->sent_end = &node->next;
  if (!conn->next) conn->next = node;
  return size;
}

static void deliver(FakeConn *conn, const Out *out, GroupId group) {
  Buf whole = {0};
  for (int i = 0; i < 3; i++) buf_append(&whole, out->parts[i], out->sizes[i]);
  for (size_t at = 0; at < whole.size;)
    at += record(conn, out, group, whole.data + at, whole.size - at);
  conn->writes++;
  conn->total.packets++;
  conn->total.bytes += whole.size;
  buf_deinit(&whole);
}

uint32_t fake_writes(Net *net, ConnId conn) { return net->conns[conn].writes; }

void net_write(Net *net, ConnId id, const Out *out) {
  FakeConn *conn = find(net, id);
  if (conn) deliver(conn, out, 0);
}

static bool is_in(const ConnId *ids, uint32_t count, ConnId id) {
  for (uint32_t i = 0; i < count; i++)
    if (ids[i] == id) return true;
  return false;
}

static const ConnId *members(const FakeGroup *group, uint32_t *count) {
  *count = (uint32_t)(group->members.size / sizeof(ConnId));
  return (const ConnId *)(const void *)group->members.data;
}

static FakeGroup *find_group(Net *net, GroupId id) {
  assert(id <= net->group_count);
  return id && net->groups[id].is_open ? &net->groups[id] : NULL;
}

void net_group_write(Net *net, GroupId id, const Out *out, const ConnId *except,
                     uint32_t except_count) {
  FakeGroup *group = find_group(net, id);
  if (!group) return;
  uint32_t count;
  const ConnId *ids = members(group, &count);
  for (uint32_t i = 0; i < count; i++)
    if (!is_in(except, except_count, ids[i])) deliver(find(net, ids[i]), out, id);
  net->group_writes++;
}

// --- Groups ---

GroupId net_group_open(Net *net, uint32_t tag) {
  assert(net->group_count + 1 < GROUPS_MAX);
  net->groups[++net->group_count] = (FakeGroup){.is_open = true, .tag = tag};
  return net->group_count;
}

void net_group_close(Net *net, GroupId id) {
  FakeGroup *group = find_group(net, id);
  if (!group) return;
  buf_deinit(&group->members);
  group->is_open = false;
}

void net_group_join(Net *net, GroupId id, ConnId conn) {
  FakeGroup *group = find_group(net, id);
  if (!group || !find(net, conn)) return;
  uint32_t count;
  const ConnId *ids = members(group, &count);
  assert(!is_in(ids, count, conn));
  buf_append(&group->members, &conn, sizeof conn);
}

void net_group_leave(Net *net, GroupId id, ConnId conn) {
  FakeGroup *group = find_group(net, id);
  if (!group || !find(net, conn)) return;
  uint32_t count;
  ConnId *ids = (ConnId *)(void *)group->members.data;
  members(group, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (ids[i] != conn) continue;
    ids[i] = ids[count - 1];
    group->members.size -= sizeof conn;
    return;
  }
}

uint32_t fake_group_count(Net *net, ConnId conn) {
  uint32_t groups = 0, count;
  for (uint32_t i = 1; i <= net->group_count; i++) {
    const ConnId *ids = members(&net->groups[i], &count);
    groups += is_in(ids, count, conn);
  }
  return groups;
}

uint32_t fake_groups(Net *net) {
  uint32_t open = 0;
  for (uint32_t i = 1; i <= net->group_count; i++) open += net->groups[i].is_open;
  return open;
}

uint64_t fake_group_writes(Net *net) { return net->group_writes; }

// --- The life of a connection ---

static void make_stale(Net *net, ConnId id) {
  for (GroupId group = 1; group <= net->group_count; group++)
    net_group_leave(net, group, id);
  FakeConn *conn = &net->conns[id];
  if (conn->counter && !conn->is_stale) {
    conn->counter->sent.packets += conn->total.packets;
    conn->counter->sent.bytes += conn->total.bytes;
  }
  conn->is_stale = true;
}

void net_close(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (!conn) return;
  conn->is_closed = true;
  make_stale(net, id);
}

void net_end(Net *net, ConnId id, Code code, const char *text) {
  (void)code;
  (void)text;
  net_close(net, id);
}

void net_hold(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (conn) conn->holds++;
}

void net_release(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (conn) conn->holds--;
}

void net_throttle(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (conn) conn->is_throttled = true;
}

static void hand_up(Net *net, FakeConn *conn, const Input *input) {
  if (conn->framing == FRAMING_LINES) {
    net->events.line(net->data, conn->data, (const char *)input->bytes, input->size);
    return;
  }
  Packet packet = input->packet;
  packet.payload = input->bytes;
  net->events.packet(net->data, conn->data, &packet);
}

static void pump(Net *net, FakeConn *conn) {
  while (conn->inputs && !conn->is_throttled && !conn->is_stale) {
    Input *input = conn->inputs;
    conn->inputs = input->next;
    hand_up(net, conn, input);
    mem_free(input);
  }
}

static void take(Net *net, ConnId id, const Packet *packet, const void *bytes,
                 size_t size) {
  FakeConn *conn = &net->conns[id];
  Input *input = mem_zalloc(sizeof *input + size);
  if (packet) input->packet = *packet;
  input->size = size;
  if (size) memcpy(input->bytes, bytes, size);
  Input **end = &conn->inputs;
  while (*end) end = &(*end)->next;
  *end = input;
  pump(net, conn);
}

// Ends the throttling. As in net, a later iteration passes the waiting input up.
void net_unthrottle(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (conn) conn->is_throttled = false;
}

bool net_resume(Net *net) { return net == NULL; }  // fake_read resumes connections

void fake_read(Net *net, ConnId id) {
  FakeConn *conn = find(net, id);
  if (conn) pump(net, conn);
}

void net_set_max_payload(Net *net, ConnId id, uint32_t bytes) {
  FakeConn *conn = find(net, id);
  if (conn) conn->max_payload = bytes;
}

void net_set_data(Net *net, ConnId id, void *conn_data) {
  FakeConn *conn = find(net, id);
  if (conn) conn->data = conn_data;
}

NetSent net_queued(const Net *net, ConnId conn) {
  (void)net;
  (void)conn;
  return (NetSent){0};
}

// Returns the sent bytes. As in net, the session counts them when the connection ends.
NetSent net_sent(const Net *net, ConnId id) {
  const FakeConn *conn = find((Net *)net, id);
  return conn ? conn->total : (NetSent){0};
}

void net_set_counter(Net *net, ConnId id, NetCounter *counter) {
  FakeConn *conn = find(net, id);
  if (!conn) return;
  conn->counter = counter;
  counter->endpoints =
      (struct Endpoint *)conn;  // the newest connection; earlier ones have ended
}

void net_close_counter(NetCounter *counter) {
  FakeConn *conn = (FakeConn *)counter->endpoints;
  if (conn && conn->counter == counter) conn->counter = NULL;
}

void net_admin_answer(Net *net, ConnId conn, const AdminAnswer *answer) {
  (void)net;
  (void)conn;
  (void)answer;
}

int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options) {
  (void)net, (void)port, (void)options;
  return ERR_FULL;
}

void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data) {
  (void)net, (void)service, (void)events, (void)data;
}

Loop *net_loop(Net *net) {
  (void)net;
  return NULL;
}

int child_start(Loop *loop, const ChildStart *start) {
  (void)loop, (void)start;
  return ERR_FULL;
}

// --- The other side ---

ConnId fake_open(Net *net, Framing framing, const char *address) {
  assert(net->conn_count + 1 < CONNS_MAX);
  ConnId id = ++net->conn_count;
  FakeConn *conn = &net->conns[id];
  conn->framing = framing;
  conn->sent_end = &conn->sent;
  ConnInfo info = {
      .framing = framing,
      .transport = framing == FRAMING_LINES ? TRANSPORT_TEXT : TRANSPORT_TCP,
      .since_ms = net_now_ms(net)};
  strncpy(info.address, address, sizeof info.address - 1);
  conn->data = net->events.open(net->data, id, &info);
  return id;
}

void fake_packet(Net *net, ConnId conn, const Packet *packet) {
  take(net, conn, packet, packet->payload, packet->length);
}

void fake_line(Net *net, ConnId conn, const char *text) {
  take(net, conn, NULL, text, strlen(text));
}

void fake_end(Net *net, ConnId id, Code code) {
  FakeConn *conn = find(net, id);
  assert(conn);
  make_stale(net, id);
  net->events.close(net->data, conn->data, code);
}

void fake_fault(Net *net, ConnId id, Code code, const char *text) {
  net->events.fault(net->data, find(net, id)->data, code, text);
}

void fake_drops(Net *net, ConnId id, uint32_t tag, uint32_t dropped, uint32_t queued) {
  net->events.drops(net->data, find(net, id)->data, tag, dropped, queued);
}

const Sent *fake_next(Net *net, ConnId id) {
  FakeConn *conn = &net->conns[id];
  SentNode *node = conn->next;
  if (!node) return NULL;
  conn->next = node->next;
  return &node->sent;
}

bool fake_is_closed(Net *net, ConnId id) { return net->conns[id].is_closed; }
bool fake_is_throttled(Net *net, ConnId id) { return net->conns[id].is_throttled; }

int fake_holds(Net *net, ConnId id) { return net->conns[id].holds; }
uint32_t fake_max_payload(Net *net, ConnId id) { return net->conns[id].max_payload; }

void fake_jump(Net *net, uint64_t ms) {
  net->now_us += ms * 1000;
  for (uint32_t i = 1; i <= net->conn_count; i++) pump(net, &net->conns[i]);
  timers_run(&net->timers, net->now_us / 1000);
}

void fake_advance(Net *net, uint64_t ms) {
  uint64_t end_ms = net->now_us / 1000 + ms;
  for (uint64_t next; (next = timers_next_ms(&net->timers)) <= end_ms;)
    fake_jump(net, next > net->now_us / 1000 ? next - net->now_us / 1000 : 0);
  if (end_ms > net->now_us / 1000) fake_jump(net, end_ms - net->now_us / 1000);
}
