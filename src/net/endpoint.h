// An Endpoint is behind each ConnId of net.h: a connection that this Net serves (Conn), or a proxy
// of one that a Remote serves. A Remote is another place, such as a thread.
#pragma once

#include "net/net.h"
#include "net/tls.h"
#include "net/udp.h"
#include "net/web.h"

typedef struct Group Group;  // out/output.h
typedef struct Endpoint Endpoint;
typedef struct Remote Remote;

/// The lists of the Net that an endpoint is in.
typedef enum Listed {
  LISTED_ENDED = 1,
  LISTED_RESUMED = 2,
  LISTED_DROPPING = 4,
} Listed;

/// The calls of net.h for an endpoint.
typedef struct EndpointOps {
  bool is_local;  // the endpoint is a Conn
  void (*write)(Endpoint *endpoint, const Out *out);
  void (*end)(Endpoint *endpoint, Code code, const char *text);
  void (*throttle)(Endpoint *endpoint);
  void (*unthrottle)(Endpoint *endpoint);
  /// Hands up waiting input; the endpoint was in net->resumed.
  void (*resume)(Endpoint *endpoint);
  /// Reports the end; the endpoint was in net->ended.
  void (*report_end)(Endpoint *endpoint);
  void (*set_max_payload)(Endpoint *endpoint, uint32_t bytes);
  void (*join)(Endpoint *endpoint, Group *group);
  void (*leave)(Endpoint *endpoint, Group *group);
  NetSent (*sent)(const Endpoint *endpoint);
  NetSent (*queued)(const Endpoint *endpoint);
  /// As net_udp_figures and net_udp_offer; the key follows from `*local`, `nonce` and the
  /// secret of all ports.
  bool (*udp_figures)(const Endpoint *endpoint, UdpFigures *figures);
  uint16_t (*udp_offer)(Endpoint *endpoint, uint32_t peer, uint64_t nonce,
                        ConnId *local);
} EndpointOps;

struct Endpoint {
  const EndpointOps *ops;
  void *data;              // the layer above's
  NetCounter *counter;     // gets its NetSent at the end; NULL: none
  Endpoint *counter_next;  // in the list of `counter`
  ConnId id;
  uint8_t listed;  // Listed
};

/// Sums of all connections of a place; uint64_t alone, for counters_add.
typedef struct NetCounters {
  NetSent sent;
  WebStats web;
  TlsStats tls;
  UdpTotals udp;
} NetCounters;

/// A call for the thread of another Net, for RemoteOps.post.
typedef struct RemoteCall {
  void (*run)(Net *net, const void *body);
  void (*drop)(const void *body);  // frees a body that is not run; may be NULL
} RemoteCall;

typedef struct RemoteOps {
  /// Posts a call and returns its body of `size` bytes, which the caller fills in before its
  /// next call of net. The remote runs calls in order, after this iteration.
  void *(*post)(Remote *remote, const RemoteCall *call, size_t size);
  /// As net_group_write and net_group_close, for a group with members there.
  void (*group_write)(Remote *remote, const Group *group, const Out *out,
                      const ConnId *except, uint32_t except_count);
  void (*group_close)(Remote *remote, const Group *group);
  /// Returns its number of connections, those on their way included.
  uint64_t (*load)(Remote *remote);
  /// Counts a connection that is posted next.
  void (*give)(Remote *remote);
  void (*add_counters)(Remote *remote, NetCounters *counters);
} RemoteOps;

struct Remote {
  const RemoteOps *ops;
  uint32_t index;  // in net->remotes
};

/// A part of a Net, which the Net knows only by this table. It calls parts in the order in which
/// they were added. The part that has the remotes is added before UDP: a remote has to
/// know a client before its datagrams come, and what remotes post names proxies of UDP, which
/// end with UDP's table.
typedef struct NetPart NetPart;
typedef struct NetPartOps {
  /// Hands a remote what all connections share.
  void (*share)(const NetPart *part, Remote *remote);
  /// The output of the iteration has left. Returns whether there is more to do.
  bool (*end_iteration)(NetPart *part);
  /// The Net accepts no more, and has closed all connections.
  void (*stop)(NetPart *part);
  /// Ends the rest; the loop closes next.
  void (*end)(NetPart *part);
  void (*free)(NetPart *part);
  void (*add_counters)(const NetPart *part, NetCounters *counters);
} NetPartOps;

struct NetPart {
  const NetPartOps *ops;  // whose functions may be NULL
  NetPart *next;
};

/// Adds a part, which the Net frees.
void net_add_part(Net *net, NetPart *part, const NetPartOps *ops);

/// Makes the part share its data with all remotes.
void net_share(const Net *net, const NetPart *part);

/// Adds a remote, and has the parts share with it.
void net_add_remote(Net *net, Remote *remote);

/// Returns the remote with the fewest connections, or NULL where there is none.
Remote *net_pick_remote(const Net *net);

/// Returns the sums of all connections, wherever they are served.
NetCounters net_counters(const Net *net);
/// Returns the sums of connections that this Net serves.
NetCounters net_own_counters(const Net *net);

/// Returns the endpoint of an id, or NULL.
Endpoint *endpoint_find(const Net *net, ConnId id);
/// Gives an endpoint its id; returns false when there are too many.
bool endpoint_add(Net *net, Endpoint *endpoint);
/// Takes its id, and removes it from all lists.
void endpoint_remove(Net *net, Endpoint *endpoint);
/// Have it resume, or report its end, at the end of the iteration.
void endpoint_resume_later(Net *net, Endpoint *endpoint);
void endpoint_end_later(Net *net, Endpoint *endpoint);

/// Adds to the counter of the endpoint, if it has one.
void counter_add(Endpoint *endpoint, NetSent sent);
/// Adds `last` to it, and takes the endpoint out of its list.
void counter_leave(Endpoint *endpoint, NetSent last);
