// What the rest of net asks of the servicer threads (servicer_internal.h says what these
// are), and they of it. All but servicer_end_turn and conn_publish is for the main
// thread.
#pragma once

#include "net/internal.h"
#include "net/io_threads.h"
#include "net/tls.h"
#include "net/web.h"

/// What servicers have done so far.
typedef struct ServicerFigures {
  NetSent sent;
  WebStats web;
  TlsStats tls;
  UdpTotals udp;
  uint64_t adopted;  // descriptors
  uint32_t conns;    // that are open
} ServicerFigures;

/// What live connections have lost.
typedef struct UdpLosses {
  uint64_t lost, resent_bytes;  // as in UdpTotals
} UdpLosses;

/// Where a servicer's Net serves UDP.
typedef struct UdpPlace {
  int fd;
  uint16_t port;
  uint8_t family;  // as UdpSocket has it
  uint8_t secret[NET_UDP_KEY_SIZE];
} UdpPlace;

/// What a servicer's Net serves TLS with.
typedef struct TlsShare {
  void *context;  // an SSL_CTX with a reference of its own; NULL: none
  void *tickets;  // TlsTickets, which outlive that Net
} TlsShare;

// servicer.c
/// What all have done; zeros where there are none.
ServicerFigures servicers_figures(const Net *net);
uint32_t servicers_count(const Servicers *servicers);
/// Serves a connection whose descriptor is `fd` by the servicer with the fewest; the limits
/// of who may come are asked here.
void servicers_adopt(Net *net, uv_os_fd_t fd, const ConnInfo *info);
/// What was to be done with connections this turn is handed to who does it.
void servicers_end_turn(Servicers *servicers);
/// What happened this turn is handed to the main thread.
void servicer_end_turn(Servicer *servicer);
void servicers_stop(Servicers *servicers);
/// Ends the threads, and frees what they served.
void servicers_end(Net *net);
/// Once the loop is closed.
void servicers_free(Net *net);

// servicer_events.c
/// Lets others see what it was sent and what waits; there are some.
void conn_publish(const Conn *conn);

// servicer_share.c
/// Hand to the servicers what the net has.
void servicers_share_limits(Net *net);
void servicers_share_web(Net *net);
void servicers_share_schema(Net *net);
void servicers_share_tls(Net *net);
void servicers_share_hashes(Net *net);
/// Has a servicer serve UDP there.
void servicers_give_udp(Servicers *servicers, uint32_t index, const UdpPlace *place);

// servicer_client.c: what is done with a connection that a servicer has
void client_write(Conn *conn, const Out *out);
void client_end(Conn *conn, Code code, const char *text);
void client_hold(Conn *conn);
void client_release(Conn *conn);
void client_set_max_payload(Conn *conn, uint32_t bytes);
NetSent client_sent(const Conn *conn);
NetSent client_queued(const Conn *conn);
bool client_udp_figures(const Conn *conn, UdpFigures *figures);
/// The id that the servicer knows it by.
ConnId client_local_id(const Conn *conn);
/// Lets it attach; returns the port.
uint16_t client_offer(Conn *conn, uint32_t peer, uint64_t nonce);
/// Goes on with events that waited while it was held.
void client_resume(Conn *conn);
/// Tells upwards that the servicer has ended it, or the other side has.
void client_tell_end(Conn *conn);

// servicer_group.c
void client_join(Conn *conn, Group *group);
void client_leave(Conn *conn, Group *group);
/// Servicers that have members of the group have none any more.
void servicers_close_group(Net *net, Group *group);
void servicers_write_group(Net *net, const Group *group, const Out *out,
                           const ConnId *except, uint32_t except_count);

// tcp.c
/// Serves a connection that was accepted elsewhere; `fd` is the net's from now on. False
/// when there are too many, or no such descriptor.
bool tcp_adopt(Net *net, uv_os_fd_t fd, const ConnInfo *info);

// udp.c
/// Serves UDP there; the descriptor is the net's from now on.
void udp_take_place(Net *net, const UdpPlace *place);

// udp_offer.c
/// Lets the peer attach to a connection of the net's own.
void udp_note_offer(Net *net, Conn *conn, uint32_t peer, uint64_t nonce);

// udp_figures.c
/// Totals without losses of live connections, and these, for which each is looked at.
UdpTotals udp_past(const Net *net);
UdpLosses udp_losses(const Net *net);
void udp_add_totals(UdpTotals *to, const UdpTotals *from);
/// As net_udp_figures.
bool udp_conn_figures(const Conn *conn, UdpFigures *figures);

// tls_server.c
TlsShare tls_share(Net *net);
void tls_use_share(Net *net, const TlsShare *share);
/// Gives up what is not going to be used.
void tls_drop_share(const TlsShare *share);
