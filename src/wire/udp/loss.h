// The round trip, and the decision that a datagram is lost: as in RACK-TLP (RFC 8985), by
// the time at which a later one has arrived, not by a timer alone. Also decides when to
// request an acknowledgement because no later datagram exists.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/udp/sent.h"

typedef struct UdpLoss {
  uint64_t srtt_us;        // smoothed; 0: no sample yet
  uint64_t rttvar_us;      // mean deviation (RFC 6298)
  uint64_t newest;         // one more than the highest number acknowledged
  uint64_t newest_rtt_us;  // round trip of the newest acknowledged datagram
  uint64_t last_sent_us;   // time of the newest datagram that needs an ACK
  uint64_t due_us;         // when the next datagram counts as lost; UDP_NEVER
  uint64_t since_us;  // start of the present wait for an acknowledgement; 0: no wait
  uint64_t widened;  // datagrams below this number were sent before `window` last grew,
  uint64_t narrowed;    // likewise, before loss_rounds last grew
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

/// Returns whether `sent`, which has that number and is on its way, is lost. If not, sets
/// `due_us` to the time at which it counts as lost. The caller checks all datagrams on
/// their way, oldest first, up to the first that is not lost.
bool udp_loss_is_lost(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                      uint64_t min_rtt_us, uint64_t now_us);

/// Notes that a datagram was taken for lost; `next` is the next number to be sent.
void udp_loss_on_loss(UdpLoss *loss, uint64_t next);

/// Returns when to probe, if a datagram flies.
uint64_t udp_loss_probe_us(const UdpLoss *loss);
