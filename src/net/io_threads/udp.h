// Clients that are alone on UDP, with servicer threads. Their requests are judged by the
// main thread, which knows who may come, at its own ports. The connection that comes of one
// is a servicer's, at that one's port. The main thread keeps a stub of it, a UdpPeer without
// a link, by which it finds what a repeated request has made.
#pragma once

#include "net/io_threads/io_threads_internal.h"
#include "net/udp/udp_internal.h"

// --- Of the main thread ---

/// The servicer with the fewest of them; NULL: there are no servicers.
Servicer *udp_emptiest_servicer(const Net *net);
uint16_t udp_stub_port(const UdpPeer *stub);
/// Hands a connection that was accepted to its servicer. Until it is told of it is a visitor,
/// who has entered.
void udp_hand_over(UdpPeer *stub, const UdpLinkParams *params, const ConnInfo *info);
/// It is going to be told of, or is over before.
void udp_end_visit(UdpPeer *stub);
void udp_free_stub(UdpPeer *stub);

// --- Of a servicer's thread ---

void udp_take_peer(Net *net, const DownUdpPeer *down);
UdpPeer *udp_stub_of(const Conn *conn);
/// The connection is over.
void udp_tell_over(const UdpPeer *peer);
