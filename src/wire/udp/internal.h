// The state of a link, and the functions that its files call in each other.
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

  // Input.
  bool is_throttled;  // see udp_link_throttle
  bool has_late;      // `late` is still to be acknowledged
  uint64_t late;  // number of a datagram that came too late for the bits of the newest
  uint64_t ack_due_us;   // UDP_NEVER: nothing waits for an acknowledgement
  uint32_t ack_waiting;  // datagrams
  UdpWindow window;
  UdpLatest latest;
  UdpStreamIn in;
  Reader items;  // unread items of the newest datagram, for udp_link_next

  // Output.
  uint16_t first_sent;
  uint16_t order;            // of the last LATEST
  uint8_t packets_in_a_row;  // datagrams in a row that had packets but no stream
  bool is_probing;           // a probe has to be sent
  bool owes_response;
  uint64_t response;      // PATH_RESPONSE that has to be sent
  uint64_t last_sent_us;  // anything at all,
  uint64_t last_used_us;  // and something of the owner's
  UdpSentRing sent;
  UdpLoss loss;
  UdpRate rate;
  UdpQueue queue;
  UdpStreamOut out;

  // The end.
  bool is_closed;  // by this side,
  bool is_over;    // this side or the other has ended the link
  bool owes_close;
  uint8_t closes;  // number of times that CLOSE may still be sent
  uint16_t close_code;

  UdpLinkStats stats;  // as far as it is counted
};

/// Returns how many bytes sealing adds.
static inline size_t udp_tag_size(const UdpLink *link) {
  return link->is_unencrypted ? 0 : UDP_TAG_SIZE;
}

/// ack.c: takes the acknowledgement of a datagram. ERR_MALFORMED, and nothing has
/// changed, for one of numbers that were never sent.
int udp_ack_receive(UdpLink *link, uint16_t ack, uint64_t bits, uint64_t now_us);

/// Finds the lost datagrams.
void udp_ack_detect(UdpLink *link, uint64_t now_us);

/// Makes room for one more datagram if too many are on their way: the oldest one counts as lost.
void udp_ack_make_room(UdpLink *link);

/// link.c: gives back memory when the link is at rest.
void udp_link_rest(UdpLink *link, uint64_t now_us);
