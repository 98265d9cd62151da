// One side of an accepted UDP connection (docs/protocol.md, section 16); both sides
// work in the same way. A link seals and opens data datagrams, acknowledges them,
// detects losses, sends lost stream bytes again, and paces its output so that the line
// is used but not flooded. It has no sockets, clock, randomness or threads. The owner
// passes datagrams and the time in, and gets datagrams and their contents.
//
// The owner of a link
//   - passes each received datagram to udp_link_receive, and then calls udp_link_next
//     until it returns false
//   - queues packets with udp_link_send, and stream bytes with udp_link_stream_write
//   - after that, and whenever udp_link_deadline has passed, calls udp_link_produce and
//     sends the datagrams that it writes, until it returns 0. If a received datagram
//     makes the deadline pass, the owner does this before it passes the next datagram
//     in, because an acknowledgement reports only 65 datagrams.
// Times are microseconds of a clock that never goes back, the same clock for all calls.
//
// An idle link needs less than 1 KiB. For traffic it allocates memory, within the
// limits below, and frees that memory about a second after the traffic has ended.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/code.h"
#include "wire/packet.h"
#include "wire/udp/handshake.h"
#include "wire/udp/keys.h"

enum {
  UDP_PACKET_MAX = 1168,  // bytes of the longest packet that fits into a datagram, with
                          // its header
  UDP_LATEST_MAX =
      1162,  // bytes of the longest packet with a key that fits into a datagram
  UDP_STREAM_WINDOW = 262144,    // stream bytes that may be sent without an
                                 // acknowledgement, or kept until the bytes before them
                                 // arrive
  UDP_STREAM_STRANGER = 8192,    // stream bytes kept for a link that is not trusted
  UDP_STREAM_TOTAL = 64 << 20,   // sum of kept bytes above which no link is trusted
  UDP_STREAM_UNSENT = 64 << 10,  // stream bytes that may wait to be sent for the first
                                 // time
  UDP_QUEUE_BYTES = 64 << 10,    // bytes that queued packets may have
  UDP_ACK_DELAY_US = 25 * 1000,  // longest delay of an acknowledgement
  UDP_ACK_DATAGRAMS = 8,         // most datagrams that wait for an acknowledgement
  UDP_KEEPALIVE_US = 5 * 1000000,  // silence before a PROBE
  UDP_STUCK_US = 3 * 1000000,  // time without an acknowledgement after which the link
                               // is stuck
  UDP_GONE_US = 60 * 1000000,  // time without an acknowledgement after which the link
                               // is gone
  UDP_CLOSE_MAX = 3,           // number of times that CLOSE is sent
};
#define UDP_NEVER UINT64_MAX

typedef struct UdpLink UdpLink;

/// The packet that a full queue drops. The owner learns of drops, and may end the
/// connection instead.
typedef enum UdpOverflow { UDP_DROP_NEWEST, UDP_DROP_OLDEST } UdpOverflow;

typedef struct UdpLinkParams {
  UdpKeys keys;             // keys of this side (udp_keys_derive); copied
  uint16_t first_sent;      // sequence of this side's first datagram
  uint16_t first_received;  // sequence of the other side's first datagram
  bool is_attached;     // the link has no stream, so STREAM items break the protocol
  bool is_unencrypted;  // datagrams are not sealed
  bool is_stranger;     // udp_link_trust has not been called yet
  uint32_t queue_capacity;  // packets that may wait, at least 1
  UdpOverflow overflow;
  _Atomic uint64_t
      *kept;  // memory for received stream bytes of several links, possibly on several
              // threads, in bytes; NULL: this link is not counted
} UdpLinkParams;

UdpLink *udp_link_new(const UdpLinkParams *params, uint64_t now_us);

/// Trusts the other side: from now on the link keeps up to UDP_STREAM_WINDOW stream
/// bytes that arrived out of order, instead of UDP_STREAM_STRANGER.
void udp_link_trust(UdpLink *link);

/// Frees a link and wipes its keys. NULL is allowed.
void udp_link_free(UdpLink *link);

/// Sets new limits of the queue. Packets that already wait may stay.
void udp_link_set_queue(UdpLink *link, uint32_t capacity, UdpOverflow overflow);

// --- Input ---

typedef enum UdpTaken {
  UDP_REFUSED,  // the datagram is not of this connection, forged, a duplicate, too old,
                // or beyond the window of the stream; nothing has changed
  UDP_TAKEN,    // the datagram is authentic
  UDP_NEWEST,   // the datagram is authentic and the newest so far, so its sender's
                // address is probably current
  UDP_BROKEN,   // the datagram is authentic but breaks the protocol, so the owner must
                // call udp_link_close(CODE_PROTOCOL); only its number has been stored
} UdpTaken;

/// Opens a datagram in place. `bytes` must stay valid until udp_link_next has returned
/// all items. The bytes change even if the datagram is refused.
UdpTaken udp_link_receive(UdpLink *link, uint64_t now_us, uint8_t *bytes, size_t size);

typedef enum UdpArrivalKind {
  UDP_ARRIVAL_PACKET,         // a packet that might have been lost
  UDP_ARRIVAL_STREAM,         // next bytes of the stream, in order
  UDP_ARRIVAL_PATH_RESPONSE,  // value from a udp_link_produce_challenge
  UDP_ARRIVAL_CLOSE,          // the other side has ended the connection
} UdpArrivalKind;

typedef struct UdpArrival {
  UdpArrivalKind kind;
  Packet packet;         // PACKET: the packet, whose payload is in the datagram
  const uint8_t *bytes;  // STREAM: bytes that are valid until the next call that
                         // changes the link
  size_t size;
  uint64_t value;  // PATH_RESPONSE: value
  uint16_t code;   // CLOSE: code
} UdpArrival;

/// Stores the next arrival; returns false if none is left. The link itself handles
/// outdated LATEST packets, duplicates and acknowledgements. The owner may call all
/// other functions between two calls. The next udp_link_receive drops arrivals that
/// were not returned, so only the owner of a link that is being closed may stop early.
bool udp_link_next(UdpLink *link, UdpArrival *arrival);

/// Makes the link keep arriving stream bytes until udp_link_unthrottle; then
/// udp_link_next returns them. The other side stops sending when the window is full.
void udp_link_throttle(UdpLink *link);
void udp_link_unthrottle(UdpLink *link);

// --- Output ---

/// Returns whether a packet may travel outside the stream: it is not a control packet
/// other than BROADCAST, not RELIABLE, and neither REQUEST nor RESPONSE. Does not check
/// its size.
bool udp_may_be_lost(const Packet *packet);

/// Queues a copy of a packet (header and payload). The packet must satisfy
/// udp_may_be_lost, and its size must be at most UDP_PACKET_MAX, or UDP_LATEST_MAX with
/// a `key`. If `key` is not 0, the packet replaces the waiting packet with this key,
/// and makes earlier packets with this key outdated. Returns the number of packets
/// dropped for lack of room. Dropped packets are the new one, or old ones.
uint32_t udp_link_send(UdpLink *link, const void *packet, size_t size, uint32_t key);

/// The packets that wait in the queue.
typedef struct UdpLinkQueue {
  uint32_t packets;
  uint32_t bytes;
} UdpLinkQueue;
UdpLinkQueue udp_link_queued(const UdpLink *link);

/// Drops all queued packets and returns their number.
uint32_t udp_link_drop_queued(UdpLink *link);

/// Returns the number of stream bytes that udp_link_stream_write accepts now, within
/// UDP_STREAM_WINDOW and UDP_STREAM_UNSENT.
size_t udp_link_stream_room(const UdpLink *link);

/// Appends bytes to the stream and returns the number of bytes accepted, at most
/// udp_link_stream_room. Not for attached links.
size_t udp_link_stream_write(UdpLink *link, const void *bytes, size_t size);

/// Returns the number of stream bytes without an acknowledgement.
size_t udp_link_stream_unacknowledged(const UdpLink *link);

/// Writes the next datagram that may be sent now, at most UDP_DATAGRAM_MAX bytes.
/// Returns its size; 0: none.
size_t udp_link_produce(UdpLink *link, uint64_t now_us, uint8_t *out);

/// Writes a datagram with only a PATH_CHALLENGE, for a new address. `came` is the size
/// of the UDP_NEWEST datagram from that address. Returns the size of the written
/// datagram; 0 if it would exceed `came`, because an unproven address never gets more
/// bytes than it has sent.
size_t udp_link_produce_challenge(UdpLink *link, uint64_t now_us, uint64_t value,
                                  size_t came, uint8_t *out);

/// Returns the time at which to call udp_link_produce next, if nothing arrives or is
/// queued before. A time in the past means now. Returns UDP_NEVER if the link is closed
/// and needs no CLOSE.
uint64_t udp_link_deadline(const UdpLink *link);

// --- End and statistics ---

/// Ends the connection: drops queue and stream, and makes udp_link_produce write CLOSE.
/// CLOSE is repeated for each datagram that still arrives, UDP_CLOSE_MAX times in all.
/// udp_link_next returns nothing more. Does nothing after the first call, or after
/// CLOSE from the other side.
void udp_link_close(UdpLink *link, Code code);

/// Returns whether either side has closed the link.
bool udp_link_is_closed(const UdpLink *link);

typedef enum UdpPassing {
  UDP_PASSES,
  UDP_STUCK,  // no acknowledgement for UDP_STUCK_US, although one was due
  UDP_GONE,   // no acknowledgement for UDP_GONE_US
} UdpPassing;

/// Returns whether datagrams get through. A stuck link continues to probe once a
/// second.
UdpPassing udp_link_passing(const UdpLink *link, uint64_t now_us);

typedef struct UdpLinkStats {
  uint64_t rtt_us;         // smoothed round trip; 0 before the first sample
  uint64_t rtt_newest_us;  // last sample, including the delay of its acknowledgement
  uint64_t rtt_min_us;     // least round trip of about the last 10 s
  uint64_t rtt_deviation_us;
  uint64_t rate;  // measured delivery rate of the line in bytes a second; 0: unknown
  uint64_t sent;  // datagrams sent
  uint64_t sent_bytes;
  uint64_t received;  // received datagrams that were authentic and new
  uint64_t received_bytes;
  uint64_t refused;       // received datagrams that were refused
  uint64_t acknowledged;  // sent datagrams that were acknowledged
  uint64_t lost;          // sent datagrams that were considered lost
  uint64_t spurious;      // datagrams considered lost that were acknowledged later
  uint64_t resent_bytes;  // stream bytes sent again
  uint64_t dropped;       // packets dropped because the queue was full
} UdpLinkStats;

UdpLinkStats udp_link_stats(const UdpLink *link);
