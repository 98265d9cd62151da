// Measures the round trip, and decides which datagrams are lost. As in RACK-TLP (RFC
// 8985), the acknowledgements of later datagrams decide, not a timer alone. If no later
// datagram exists, a probe requests an acknowledgement; its time is computed here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/udp/sent.h"

typedef struct UdpLoss {
  uint64_t srtt_us;        // smoothed round trip; 0: no sample yet
  uint64_t rttvar_us;      // mean deviation of the round trip (RFC 6298)
  uint64_t newest;         // one more than the highest number acknowledged
  uint64_t newest_rtt_us;  // round trip of the newest acknowledged datagram
  uint64_t last_sent_us;   // time of the newest datagram that needs an ACK
  uint64_t due_us;    // time at which the next datagram counts as lost; UDP_NEVER: none
  uint64_t since_us;  // start of the current wait for an acknowledgement; 0: no wait
  uint64_t widened;   // number of the next datagram when `window` last grew
  uint64_t narrowed;  // number of the next datagram when loss_rounds last grew
  uint8_t window;     // window for reordering, in quarters of the least round trip
  uint8_t loss_rounds;  // round trips with real losses
  uint8_t probes;       // probes sent since the last acknowledgement
  bool is_reordering;   // datagrams have overtaken each other
} UdpLoss;

void udp_loss_init(UdpLoss *loss);

/// Reports that a datagram which needs an acknowledgement is being sent. `is_first`
/// means that no other datagram is on its way.
void udp_loss_on_send(UdpLoss *loss, bool is_first, uint64_t now_us);

/// Reports that the datagram `sent` with this number was acknowledged. The highest
/// number of an acknowledgement must come first. Returns the round trip. If a later
/// datagram was acknowledged before, this datagram gives no sample, and the result is
/// 0.
uint64_t udp_loss_on_ack(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                         uint64_t now_us);

/// Reports the end of an acknowledgement. `flies` means that datagrams are still on
/// their way.
void udp_loss_on_acks(UdpLoss *loss, bool flies, uint64_t now_us);

/// Reports that a datagram considered lost was acknowledged; `next` is the next number
/// to send.
void udp_loss_on_spurious(UdpLoss *loss, uint64_t next);

/// Returns whether the datagram `sent` with this number, which is on its way, is lost.
/// If it is not lost, but a later datagram was acknowledged, sets `due_us` to the time
/// at which it counts as lost. The caller checks the datagrams on their way, the oldest
/// first, until one is not lost.
bool udp_loss_is_lost(UdpLoss *loss, const UdpSent *sent, uint64_t number,
                      uint64_t min_rtt_us, uint64_t now_us);

/// Reports that a datagram is considered lost; `next` is the next number to send.
void udp_loss_on_loss(UdpLoss *loss, uint64_t next);

/// Returns the time of the next probe, if a datagram is on its way.
uint64_t udp_loss_probe_us(const UdpLoss *loss);
