// The state of a link, and the functions that its files share.
#pragma once

#include "wire/udp/body.h"
#include "wire/udp/latest.h"
#include "wire/udp/link.h"
#include "wire/udp/loss.h"
#include "wire/udp/queue.h"
#include "wire/udp/rate.h"
#include "wire/udp/sent.h"
#include "wire/udp/stream.h"
#include "wire/udp/window.h"

struct UdpLink {
  UdpKeys keys;
  bool is_attached;
  bool is_unencrypted;

  // Input:
  bool is_throttled;  // udp_link_throttle is in effect
  bool has_late;      // `late` must still be acknowledged
  // Number of a late datagram, which the acknowledgement's bits cannot report.
  uint64_t late;
  uint64_t ack_due_us;   // deadline of the next acknowledgement; UDP_NEVER: none needed
  uint32_t ack_waiting;  // datagrams that wait for an acknowledgement
  UdpWindow window;
  UdpLatest latest;
  UdpStreamIn in;
  Reader items;  // unread items of the newest datagram, for udp_link_next

  // Output:
  uint16_t first_sent;
  uint16_t order;            // order of the last LATEST
  uint8_t packets_in_a_row;  // successive datagrams that had packets but no stream
                             // bytes
  bool is_probing;           // a probe must be sent
  bool owes_response;
  uint64_t response;      // value of the PATH_RESPONSE that must be sent
  uint64_t last_sent_us;  // last time that anything was sent
  uint64_t last_used_us;  // last time that packets or stream bytes were sent
  UdpSentRing sent;
  UdpLoss loss;
  UdpRate rate;
  UdpQueue queue;
  UdpStreamOut out;

  // The end:
  bool is_closed;  // this side has ended the link
  bool is_over;    // this side or the other has ended the link
  bool owes_close;
  uint8_t closes;  // number of times that CLOSE may still be sent
  uint16_t close_code;

  UdpLinkStats stats;  // counters; udp_link_stats adds the round trips and the rate
};

/// Returns the number of bytes that sealing adds.
static inline size_t udp_tag_size(const UdpLink *link) {
  return link->is_unencrypted ? 0 : UDP_TAG_SIZE;
}

/// ack.c
/// Handles the acknowledgement in a datagram. Returns ERR_MALFORMED without any change
/// if it names numbers that were never sent.
int udp_ack_receive(UdpLink *link, uint16_t ack, uint64_t bits, uint64_t now_us);

/// Finds the lost datagrams.
void udp_ack_detect(UdpLink *link, uint64_t now_us);

/// Makes room by treating the oldest datagram as lost, if too many datagrams are on
/// their way.
void udp_ack_make_room(UdpLink *link);

/// link.c
/// Frees memory if the link is idle.
void udp_link_rest(UdpLink *link, uint64_t now_us);
