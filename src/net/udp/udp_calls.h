// What the rest of net asks of UDP.
#pragma once

#include "net/internal.h"

// udp_peer.c
/// Sends a packet by a datagram, at once or after those that were sent before it; false when
/// it has to wait.
bool udp_send(UdpPeer *peer, const void *packet, uint32_t size, uint64_t key,
              uint32_t tag);
/// Whether a message of this kind and size goes by a datagram now.
bool udp_carries(const UdpPeer *peer, uint8_t out_flags, uint32_t size);
/// Hands what was sent to the kernel at the end of the turn, as far as it may leave now.
void udp_flush(UdpPeer *peer);
/// The connection ends: its datagrams do, too, unless they are all it has.
void udp_leave(Conn *conn);
bool udp_is_alone(const Conn *conn);

// udp.c
/// All that was to be sent this turn leaves. Returns whether there is more to do.
bool udp_end_turn(Net *net);
/// Nobody comes any more; the ports are closed when those who are alone are gone.
void udp_stop(Net *net);
/// Ends all that is left.
void udp_shut(Net *net);
void udp_free(Net *net);
