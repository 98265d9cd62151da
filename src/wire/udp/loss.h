// The round trip, and the decision that a datagram is lost: as in RACK-TLP (RFC 8985), by the time
// at which a later one has arrived, not by a timer alone. Also when to ask for an
// acknowledgement because there is no later one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/udp/sent.h"

typedef struct UdpLoss {
  uint64_t srtt_us;        // smoothed; 0: no sample yet
  uint64_t rttvar_us;      // mean deviation (RFC 6298)
  uint64_t newest;         // one more than the highest number acknowledged
  uint64_t newest_rtt_us;  // round trip of the one sent last of those acknowledged
  uint64_t last_sent_us;   // of what is to be acknowledged
  uint64_t due_us;         // when the next one is taken for lost; UDP_NEVER
  uint64_t since_us;    // nothing was acknowledged since, though it could; 0: no wait
  uint64_t widened;     // number: those before it were sent before `window` last grew,
  uint64_t narrowed;    // and before loss_rounds last did
  uint8_t window;       // for reordering, in quarters of the least round trip
  uint8_t loss_rounds;  // round trips with losses, all of them real
  uint8_t probes;       // sent since the last acknowledgement
  bool is_reordering;   // datagrams were seen to overtake each other
} UdpLoss;

void udp_loss_init(UdpLoss *loss);

/// Notes that a datagram to be acknowledged is sent. `is_first`: no other is on its way.
void udp_loss_on_send(UdpLoss *loss, bool is_first, uint64_t now_us);

/// Notes that `sent`, of that number, has been acknowledged; the highest number of an
/// acknowledgement comes first. Returns the round trip, or 0 if a later one was acknowledged
/// before, so that it has none.
uint64_t udp_loss_on_ack(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                         uint64_t now_us);

/// Notes the end of an acknowledgement; `flies`: some datagrams are still on their way.
void udp_loss_on_acks(UdpLoss *loss, bool flies, uint64_t now_us);

/// Notes that a datagram taken for lost has been acknowledged; `next` is the next number to send.
void udp_loss_on_spurious(UdpLoss *loss, uint64_t next);

/// Returns whether `sent` of that number, which flies, is lost. Sets `due_us` where it will be
/// lost if nothing comes. The caller asks for all that fly, oldest first, up to the first that
/// is not lost.
bool udp_loss_is_lost(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                      uint64_t min_rtt_us, uint64_t now_us);

/// Notes that a datagram was taken for lost; `next` is the next number to be sent.
void udp_loss_on_loss(UdpLoss *loss, uint64_t next);

/// Returns when to probe, if a datagram flies.
uint64_t udp_loss_probe_us(const UdpLoss *loss);
