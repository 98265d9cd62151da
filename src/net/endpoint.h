// What stands behind the ids of net.h: a connection that this Net serves (Conn), or one that
// is served elsewhere and that somebody else stands for. A Remote is such a place: another
// thread.
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

/// What net.h does with an endpoint.
typedef struct EndpointOps {
  bool is_local;  // it is a Conn
  void (*write)(Endpoint *endpoint, const Out *out);
  void (*end)(Endpoint *endpoint, Code code, const char *text);
  void (*throttle)(Endpoint *endpoint);
  void (*unthrottle)(Endpoint *endpoint);
  /// It is in net->resumed: hands up what waited.
  void (*resume)(Endpoint *endpoint);
  /// It is in net->ended: reports that.
  void (*report_end)(Endpoint *endpoint);
  void (*set_max_payload)(Endpoint *endpoint, uint32_t bytes);
  void (*join)(Endpoint *endpoint, Group *group);
  void (*leave)(Endpoint *endpoint, Group *group);
  NetSent (*sent)(const Endpoint *endpoint);
  NetSent (*queued)(const Endpoint *endpoint);
  /// As net_udp_figures and net_udp_offer; the key is of `*local`, `nonce` and the secret of
  /// all ports.
  bool (*udp_figures)(const Endpoint *endpoint, UdpFigures *figures);
  uint16_t (*udp_offer)(Endpoint *endpoint, uint32_t peer, uint64_t nonce,
                        ConnId *local);
} EndpointOps;

struct Endpoint {
  const EndpointOps *ops;
  void *data;              // the layer above's
  NetCounter *counter;     // where it is counted at the end; NULL: nowhere
  Endpoint *counter_next;  // in that one's list
  ConnId id;
  uint8_t listed;  // Listed
};

/// What all connections of a place have done so far.
typedef struct NetCounters {
  NetSent sent;
  WebStats web;
  TlsStats tls;
  UdpTotals udp;
} NetCounters;

/// Something to be done by the thread of another Net; what a RemoteOps.post is given.
typedef struct RemoteCall {
  void (*run)(Net *net, const void *body);
  void (*drop)(
      const void *body);  // frees what it holds, when it is not run; may be NULL
} RemoteCall;

typedef struct RemoteOps {
  /// Posts a call and returns its body of `size` bytes, to be filled in before the next call
  /// of net. Calls are carried out in order, after this iteration.
  void *(*post)(Remote *remote, const RemoteCall *call, size_t size);
  /// As net_group_write and net_group_close, for a group that has members there.
  void (*group_write)(Remote *remote, const Group *group, const Out *out,
                      const ConnId *except, uint32_t except_count);
  void (*group_close)(Remote *remote, const Group *group);
  /// Returns how many connections it has, those on their way included.
  uint64_t (*load)(Remote *remote);
  /// Counts a connection that is posted next.
  void (*give)(Remote *remote);
  void (*add_counters)(Remote *remote, NetCounters *counters);
} RemoteOps;

struct Remote {
  const RemoteOps *ops;
  uint32_t index;  // in net->remotes
};

/// A part of a Net that it does not know more of. Parts are served in the order in which they
/// were added. The part that has the remotes is added before UDP: a remote has to
/// know a client before its datagrams come, and what remotes post names proxies of UDP, which
/// end with UDP's table.
typedef struct NetPart NetPart;
typedef struct NetPartOps {
  /// Hands what all connections have in common to a remote.
  void (*share)(const NetPart *part, Remote *remote);
  /// The output of the iteration has left. Returns whether there is more to do.
  bool (*end_iteration)(NetPart *part);
  /// Nobody comes any more, and all connections have been closed.
  void (*stop)(NetPart *part);
  /// Ends what is left; the loop is closed next.
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

/// Has the part hand what it has to all remotes.
void net_share(const Net *net, const NetPart *part);

/// Adds a place, which gets what the parts have in common with it.
void net_add_remote(Net *net, Remote *remote);

/// The place with the fewest connections, or NULL where there is none but this Net.
Remote *net_pick_remote(const Net *net);

/// What all connections have done, wherever they are served.
NetCounters net_counters(const Net *net);
/// The same without what is served elsewhere.
NetCounters net_own_counters(const Net *net);

/// What stands behind an id, or NULL.
Endpoint *endpoint_find(const Net *net, ConnId id);
/// Gives it an id; false when there are too many.
bool endpoint_add(Net *net, Endpoint *endpoint);
/// Its id is stale from now on; it is in no list any more.
void endpoint_remove(Net *net, Endpoint *endpoint);
/// Has it resume, or report its end, at the end of the iteration.
void endpoint_resume_later(Net *net, Endpoint *endpoint);
void endpoint_end_later(Net *net, Endpoint *endpoint);

/// Adds to the endpoint's counter, if it has one.
void counter_add(Endpoint *endpoint, NetSent sent);
/// Adds `last`, after which nothing more of the endpoint is counted.
void counter_leave(Endpoint *endpoint, NetSent last);
