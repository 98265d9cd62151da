// An Endpoint is the object behind a ConnId of net.h. It is a connection that this Net
// serves (Conn), or a proxy of a connection that a Remote serves. A Remote is another
// place that serves connections, such as a thread.
#pragma once

#include "net/net.h"
#include "net/tls.h"
#include "net/udp.h"
#include "net/web.h"

typedef struct Group Group;  // out/output.h
typedef struct Endpoint Endpoint;
typedef struct Remote Remote;

/// Lists of the Net that contain an endpoint.
typedef enum Listed {
  LISTED_ENDED = 1,
  LISTED_RESUMED = 2,
  LISTED_DROPPING = 4,
} Listed;

/// Functions of net.h, implemented for one kind of endpoint.
typedef struct EndpointOps {
  bool is_local;  // the endpoint is a Conn
  void (*write)(Endpoint *endpoint, const Out *out);
  void (*end)(Endpoint *endpoint, Code code, const char *text);
  /// Implements net_hold, or net_release if `is_held` is false.
  void (*hold)(Endpoint *endpoint, bool is_held);
  void (*throttle)(Endpoint *endpoint);
  void (*unthrottle)(Endpoint *endpoint);
  /// Passes waiting input up; the endpoint was in net->resumed.
  void (*resume)(Endpoint *endpoint);
  /// Reports the end; the endpoint was in net->ended.
  void (*report_end)(Endpoint *endpoint);
  void (*set_max_payload)(Endpoint *endpoint, uint32_t bytes);
  void (*join)(Endpoint *endpoint, Group *group);
  void (*leave)(Endpoint *endpoint, Group *group);
  NetSent (*sent)(const Endpoint *endpoint);
  NetSent (*queued)(const Endpoint *endpoint);
  /// Implement net_udp_figures and net_udp_offer. udp_offer stores in `*local` the id
  /// that the connection has in the Net that serves it. The key is derived from that
  /// id, `nonce` and the secret that all ports share.
  bool (*udp_figures)(const Endpoint *endpoint, UdpFigures *figures);
  uint16_t (*udp_offer)(Endpoint *endpoint, uint32_t peer, uint64_t nonce,
                        ConnId *local);
} EndpointOps;

struct Endpoint {
  const EndpointOps *ops;
  void *data;              // data of the layer above
  NetCounter *counter;     // counter that gets the endpoint's NetSent at the end; NULL:
                           // none
  Endpoint *counter_next;  // next endpoint in the list of `counter`
  ConnId id;
  uint8_t listed;  // Listed
};

/// Sums over all connections of one place. All fields are uint64_t, for counters_add.
typedef struct NetCounters {
  NetSent sent[TRANSPORT_COUNT];
  uint64_t replaced;  // see net_replaced
  WebStats web;
  TlsStats tls;
  UdpTotals udp;
} NetCounters;

/// A function that the thread of another Net runs, for RemoteOps.post.
typedef struct RemoteCall {
  void (*run)(Net *net, const void *body);
  void (*drop)(const void *body);  // frees the body of a call that never runs; may be
                                   // NULL
} RemoteCall;

typedef struct RemoteOps {
  /// Posts a call and returns its body of `size` bytes, which the caller fills in
  /// before its next call of net. The remote runs calls in order, after this iteration.
  void *(*post)(Remote *remote, const RemoteCall *call, size_t size);
  /// Implement net_group_write and net_group_close for a group with members at the
  /// remote.
  void (*group_write)(Remote *remote, const Group *group, const Out *out,
                      const ConnId *except, uint32_t except_count);
  void (*group_close)(Remote *remote, const Group *group);
  /// Returns the remote's number of connections, including those that are on their way
  /// to it.
  uint64_t (*load)(Remote *remote);
  /// Counts a connection that the caller posts next.
  void (*give)(Remote *remote);
  void (*add_counters)(Remote *remote, NetCounters *counters);
} RemoteOps;

struct Remote {
  const RemoteOps *ops;
  uint32_t index;  // index in net->remotes
};

/// A part of a Net. The Net knows it only by this table, and calls parts in the order
/// in which they were added. The part with the remotes is added before UDP for two
/// reasons. A remote must know a client before the client's datagrams arrive. Calls of
/// the remotes refer to proxies in UDP's table, so the remotes must end before that
/// table.
typedef struct NetPart NetPart;
typedef struct NetPartOps {
  /// Gives a remote the data that all connections share.
  void (*share)(const NetPart *part, Remote *remote);
  /// Ends the part's iteration, after the output has left. Returns whether work is
  /// left.
  bool (*end_iteration)(NetPart *part);
  /// Stops the part, after the Net has stopped accepting connections and has closed all
  /// of them.
  void (*stop)(NetPart *part);
  /// Ends everything that `stop` has left; the loop closes next.
  void (*end)(NetPart *part);
  void (*free)(NetPart *part);
  void (*add_counters)(const NetPart *part, NetCounters *counters);
} NetPartOps;

struct NetPart {
  const NetPartOps *ops;  // functions of the part, which may be NULL
  NetPart *next;
};

/// Adds a part. The Net frees the part.
void net_add_part(Net *net, NetPart *part, const NetPartOps *ops);

/// Makes the part share its data with all remotes.
void net_share(const Net *net, const NetPart *part);

/// Adds a remote, and makes the parts share their data with it.
void net_add_remote(Net *net, Remote *remote);

/// Returns the remote with the fewest connections, or NULL if the Net has no remotes.
Remote *net_pick_remote(const Net *net);

/// Returns the sums over all connections, whichever thread serves them.
NetCounters net_counters(const Net *net);
/// Returns the sums over the connections that this Net serves.
NetCounters net_own_counters(const Net *net);

/// Returns the endpoint of an id, or NULL.
Endpoint *endpoint_find(const Net *net, ConnId id);
/// Assigns an id to an endpoint; returns false if too many exist.
bool endpoint_add(Net *net, Endpoint *endpoint);
/// Frees the endpoint's id, and removes the endpoint from all lists.
void endpoint_remove(Net *net, Endpoint *endpoint);
/// Make the end of the iteration resume the endpoint, or report its end.
void endpoint_resume_later(Net *net, Endpoint *endpoint);
void endpoint_end_later(Net *net, Endpoint *endpoint);

/// Adds `sent` to the endpoint's counter, if it has one.
void counter_add(Endpoint *endpoint, NetSent sent);
/// Adds `last` to the endpoint's counter, and removes the endpoint from that counter's
/// list.
void counter_leave(Endpoint *endpoint, NetSent last);
