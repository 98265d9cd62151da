// The main thread's side of connections that threads serve. The layers above know a
// connection by the id of its proxy. The proxy posts their calls to the thread, and
// passes the thread's events up to them. Events of an ended connection are dropped.
// Input of a throttled connection waits.
#include <string.h>

#include "base/mem.h"
#include "net/io_threads/internal.h"

static Proxy *proxy_of(Endpoint *endpoint) { return (Proxy *)endpoint; }

static Net *main_of(const Proxy *proxy) { return proxy->thread->all->main; }

static void *post_call(Proxy *proxy, const RemoteCall *call, size_t size) {
  return mailbox_add(&proxy->thread->calls, call, size);
}

// --- Calls to the thread ---

typedef struct DownNumber {
  ConnId conn;
  uint32_t value;
} DownNumber;

static void post_number(Proxy *proxy, const RemoteCall *call, uint32_t value) {
  DownNumber *down = post_call(proxy, call, sizeof *down);
  *down = (DownNumber){proxy->local, value};
}

static void run_stop(Net *net, const void *body) {
  const DownNumber *down = body;
  Conn *conn = conn_find(net, down->conn);
  if (conn) conn_stop(conn, down->value);
}

static void run_start(Net *net, const void *body) {
  const DownNumber *down = body;
  Conn *conn = conn_find(net, down->conn);
  if (conn) conn_start(conn, down->value);
}

static void allow_input(Proxy *proxy, unsigned reason) {
  static const RemoteCall START = {.run = run_start};
  post_number(proxy, &START, reason);
}

static void proxy_throttle(Endpoint *endpoint) {
  static const RemoteCall STOP = {.run = run_stop};
  proxy_of(endpoint)->is_throttled = true;
  post_number(proxy_of(endpoint), &STOP, STOP_THROTTLED);
}

static void proxy_unthrottle(Endpoint *endpoint) {
  Proxy *proxy = proxy_of(endpoint);
  if (!proxy->is_throttled) return;
  proxy->is_throttled = false;
  allow_input(proxy, STOP_THROTTLED);
  if (proxy->kept.size > 0) endpoint_resume_later(main_of(proxy), endpoint);
}

static void run_hold(Net *net, const void *body) {
  const DownNumber *down = body;
  Endpoint *endpoint = endpoint_find(net, down->conn);
  if (endpoint) endpoint->ops->hold(endpoint, down->value);
}

static void proxy_hold(Endpoint *endpoint, bool is_held) {
  static const RemoteCall HOLD = {.run = run_hold};
  post_number(proxy_of(endpoint), &HOLD, is_held);
}

static void run_set_max_payload(Net *net, const void *body) {
  const DownNumber *down = body;
  net_set_max_payload(net, down->conn, down->value);
}

static void proxy_set_max_payload(Endpoint *endpoint, uint32_t bytes) {
  static const RemoteCall SET = {.run = run_set_max_payload};
  post_number(proxy_of(endpoint), &SET, bytes);
}

typedef struct DownWrite {
  ConnId conn;
  uint32_t size;
  uint64_t key;
  uint8_t priority, flags;
} DownWrite;

static void run_write(Net *net, const void *body) {
  const DownWrite *down = body;
  net_write(net, down->conn,
            &(Out){.parts = {down + 1},
                   .sizes = {down->size},
                   .priority = down->priority,
                   .flags = down->flags,
                   .key = down->key});
}

static void proxy_write(Endpoint *endpoint, const Out *out) {
  static const RemoteCall WRITE = {.run = run_write};
  Proxy *proxy = proxy_of(endpoint);
  uint32_t size = out_size(out);
  DownWrite *down = post_call(proxy, &WRITE, sizeof *down + size);
  *down = (DownWrite){.conn = proxy->local,
                      .size = size,
                      .key = out->key,
                      .priority = out->priority,
                      .flags = out->flags};
  out_gather(out, (uint8_t *)(down + 1));
}

typedef struct DownOffer {
  ConnId conn;
  uint32_t peer;
  uint64_t nonce;
} DownOffer;

static void run_offer(Net *net, const void *body) {
  const DownOffer *down = body;
  Endpoint *endpoint = endpoint_find(net, down->conn);
  ConnId local;
  if (endpoint) endpoint->ops->udp_offer(endpoint, down->peer, down->nonce, &local);
}

static uint16_t proxy_udp_offer(Endpoint *endpoint, uint32_t peer, uint64_t nonce,
                                ConnId *local) {
  static const RemoteCall OFFER = {.run = run_offer};
  Proxy *proxy = proxy_of(endpoint);
  DownOffer *down = post_call(proxy, &OFFER, sizeof *down);
  *down = (DownOffer){proxy->local, peer, nonce};
  *local = proxy->local;
  return proxy->port;
}

// --- Counters ---

static NetSent proxy_sent(const Endpoint *endpoint) {
  return counters_sent(&((const Proxy *)endpoint)->counters);
}

static NetSent proxy_queued(const Endpoint *endpoint) {
  return counters_queued(&((const Proxy *)endpoint)->counters);
}

static bool proxy_udp_figures(const Endpoint *endpoint, UdpFigures *figures) {
  return counters_udp(&((const Proxy *)endpoint)->counters, figures);
}

// --- Birth and death ---

// Handles the proxy's last event. The counters now include the last message of the
// connection. The end of the iteration frees the proxy.
static void retire(Proxy *proxy, const UpEvent *event) {
  (void)event;
  IoThreads *threads = proxy->thread->all;
  NetSent sent = proxy_sent(&proxy->self);
  sent.packets -= proxy->counted.packets;
  sent.bytes -= proxy->counted.bytes;
  counter_add(&proxy->self, sent);
  if (proxy->previous)
    proxy->previous->next = proxy->next;
  else
    proxy->thread->proxies = proxy->next;
  if (proxy->next) proxy->next->previous = proxy->previous;
  proxy->next = threads->retired;
  threads->retired = proxy;
}

static void free_list(Proxy *proxy) {
  while (proxy) {
    Proxy *next = proxy->next;
    counter_leave(&proxy->self, (NetSent){0});
    buf_deinit(&proxy->kept);
    mem_free(proxy->groups);
    mem_free(proxy);
    proxy = next;
  }
}

void proxies_free_retired(IoThreads *threads) {
  free_list(threads->retired);
  threads->retired = NULL;
}

void proxies_free_all(IoThread *thread) {
  free_list(thread->proxies);
  thread->proxies = NULL;
  proxies_free_retired(thread->all);
}

// Makes the proxy's id stale, because the layer above has ended the connection or gets
// its end reported. The proxy stays until its last event.
static void forget(Proxy *proxy) {
  Net *net = main_of(proxy);
  Endpoint *endpoint = &proxy->self;
  proxy->counted = proxy_sent(endpoint);
  counter_add(endpoint, proxy->counted);
  endpoint_remove(net, endpoint);
  proxy->is_open = false;
  buf_deinit(&proxy->kept);
  proxy_leave_all(proxy);
}

typedef struct DownEnd {
  Proxy *proxy;
  ConnId conn;
  Code code;
  bool has_text;
  bool is_refused;   // events.open ended the connection
  bool is_reported;  // the other side had already ended the connection
} DownEnd;

static void run_end(Net *net, const void *body) {
  const DownEnd *down = body;
  Conn *conn = conn_find(net, down->conn);
  if (!conn) return;
  if (!down->is_reported)
    conn_set_reason(conn, down->code, down->has_text ? (const char *)(down + 1) : NULL);
  conn_close(conn);
  if (down->is_refused) conn_limit_refused(conn);
  UpEvent *event = net->home->ops->post(net->home, &PROXY_LAST, sizeof *event);
  *event = (UpEvent){.proxy = down->proxy, .hand_up = retire};
}

static void post_end(Proxy *proxy, Code code, const char *text, bool is_reported) {
  static const RemoteCall END = {.run = run_end};
  size_t size = text ? strlen(text) + 1 : 0;
  DownEnd *down = post_call(proxy, &END, sizeof *down + size);
  *down = (DownEnd){.proxy = proxy,
                    .conn = proxy->local,
                    .code = code,
                    .has_text = text != NULL,
                    .is_refused = proxy->is_new,
                    .is_reported = is_reported};
  if (text) memcpy(down + 1, text, size);
}

static void proxy_end(Endpoint *endpoint, Code code, const char *text) {
  post_end(proxy_of(endpoint), code, text, false);
  forget(proxy_of(endpoint));
}

static void proxy_report_end(Endpoint *endpoint) {
  Proxy *proxy = proxy_of(endpoint);
  const Net *net = main_of(proxy);
  post_end(proxy, proxy->code, NULL, true);
  forget(proxy);
  net->events.close(net->data, endpoint->data, proxy->code);
}

// --- Input that waits ---

static bool takes_input(const Proxy *proxy) {
  return proxy->is_open && !proxy->is_throttled && !(proxy->self.listed & LISTED_ENDED);
}

static void hand_up(const UpEvent *event) {
  Proxy *proxy = event->proxy;
  event->hand_up(proxy, event);
  if (event->is_first && proxy->is_open) allow_input(proxy, STOP_FIRST);
}

static void proxy_resume(Endpoint *endpoint) {
  Proxy *proxy = proxy_of(endpoint);
  Buf kept = proxy->kept;
  proxy->kept = (Buf){0};
  size_t at = 0;
  while (at < kept.size && takes_input(proxy)) {
    const Mail *mail = (const Mail *)(kept.data + at);
    at += mail->size;
    hand_up((const UpEvent *)(mail + 1));
  }
  if (proxy->is_open) buf_append(&proxy->kept, kept.data + at, kept.size - at);
  buf_deinit(&kept);
}

static bool is_waiting(const Proxy *proxy) {
  return proxy->is_throttled || proxy->self.listed & LISTED_RESUMED ||
         proxy->kept.size > 0;
}

static void run_input(Net *net, const void *body) {
  (void)net;
  const UpEvent *event = body;
  Proxy *proxy = event->proxy;
  if (!proxy->is_open) return;
  if (is_waiting(proxy))
    buf_append(&proxy->kept, mail_of(body), mail_of(body)->size);
  else
    hand_up(event);
}

static void run_unreliable(Net *net, const void *body) {
  (void)net;
  const UpEvent *event = body;
  if (event->proxy->is_open && !is_waiting(event->proxy)) hand_up(event);
}

static void run_news(Net *net, const void *body) {
  (void)net;
  const UpEvent *event = body;
  if (event->proxy->is_open) hand_up(event);
}

static void run_last(Net *net, const void *body) {
  (void)net;
  const UpEvent *event = body;
  if (!event->proxy->is_open) event->hand_up(event->proxy, event);
}

const RemoteCall PROXY_INPUT = {.run = run_input},
                 PROXY_UNRELIABLE = {.run = run_unreliable},
                 PROXY_NEWS = {.run = run_news}, PROXY_LAST = {.run = run_last};

// --- Events for the layer above ---

static void run_entered_leave(Net *net, const void *body) {
  if (!net->is_ending) net->events.leave(net->data, body);
}

static void run_open(Net *net, const void *body) {
  static const EndpointOps OPS = {
      .write = proxy_write,
      .end = proxy_end,
      .hold = proxy_hold,
      .throttle = proxy_throttle,
      .unthrottle = proxy_unthrottle,
      .resume = proxy_resume,
      .report_end = proxy_report_end,
      .set_max_payload = proxy_set_max_payload,
      .join = proxy_join,
      .leave = proxy_leave,
      .sent = proxy_sent,
      .queued = proxy_queued,
      .udp_figures = proxy_udp_figures,
      .udp_offer = proxy_udp_offer,
  };
  const UpOpen *up = body;
  Proxy *proxy = up->head.proxy;
  proxy->self.ops = &OPS;
  proxy->next = proxy->thread->proxies;
  if (proxy->next) proxy->next->previous = proxy;
  proxy->thread->proxies = proxy;
  proxy->is_new = true;
  if (net->is_stopping || !endpoint_add(net, &proxy->self)) {
    post_end(proxy, CODE_SERVER_FULL, NULL, false);
    return;
  }
  proxy->is_open = true;
  ConnInfo info = up->info;
  // The thread may have read its clock later than the main thread.
  if (info.since_ms > net_now_ms(net)) info.since_ms = net_now_ms(net);
  proxy->self.data = net->events.open(net->data, proxy->self.id, &info);
  proxy->is_new = false;
  if (proxy->is_open) allow_input(proxy, STOP_OPEN);
}

const RemoteCall PROXY_LEAVE = {.run = run_entered_leave},
                 PROXY_OPEN = {.run = run_open};

static Packet packet_of(const UpEvent *event) {
  const UpPacket *up = (const UpPacket *)event;
  Packet packet = up->packet;
  packet.payload = (const uint8_t *)(up + 1);
  return packet;
}

void proxy_packet(Proxy *proxy, const UpEvent *event) {
  const Net *net = main_of(proxy);
  Packet packet = packet_of(event);
  net->events.packet(net->data, proxy->self.data, &packet);
}

void proxy_unreliable_packet(Proxy *proxy, const UpEvent *event) {
  const Net *net = main_of(proxy);
  Packet packet = packet_of(event);
  net->events.unreliable_packet(net->data, proxy->self.data, &packet);
}

void proxy_line(Proxy *proxy, const UpEvent *event) {
  const Net *net = main_of(proxy);
  const UpLine *up = (const UpLine *)event;
  net->events.line(net->data, proxy->self.data, (const char *)(up + 1), up->size);
}

void proxy_fault(Proxy *proxy, const UpEvent *event) {
  const Net *net = main_of(proxy);
  const UpFault *up = (const UpFault *)event;
  net->events.fault(net->data, proxy->self.data, up->code, (const char *)(up + 1));
}

void proxy_drops(Proxy *proxy, const UpEvent *event) {
  const Net *net = main_of(proxy);
  const UpDrops *up = (const UpDrops *)event;
  net->events.drops(net->data, proxy->self.data, up->tag, up->dropped, up->queued);
}

// Makes the end of the iteration report the end of the connection.
void proxy_close(Proxy *proxy, const UpEvent *event) {
  proxy->code = ((const UpFault *)event)->code;
  endpoint_end_later(main_of(proxy), &proxy->self);
}
