// One side of a UDP connection once it is accepted (docs/protocol.md, section 16; those
// sides are alike): data datagrams are sealed and opened, acknowledged, taken for lost
// and their stream bytes sent again, and paced so that the line is neither flooded nor
// left empty. A machine without sockets, clock, randomness or threads: datagrams and the
// time go in, datagrams and what they brought come out.
//
// The owner of a link
//   - hands each datagram that comes to udp_link_receive, and takes what was in it with
//     udp_link_next until there is no more;
//   - queues packets with udp_link_send and stream bytes with udp_link_stream_write;
//   - then, and when udp_link_deadline has come, sends what udp_link_produce gives until
//     it gives nothing. It does so after each datagram received whose deadline has come
//     at once, not after a batch: an acknowledgement tells of 65 datagrams only.
// Times are microseconds of any clock that does not go back, the same one for all calls.
//
// A link at rest is less than a KiB; what it needs for traffic it takes when there is
// some, bounded by the constants below, and gives back about a second after.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/code.h"
#include "wire/packet.h"
#include "wire/udp/handshake.h"
#include "wire/udp/keys.h"

enum {
  UDP_PACKET_MAX = 1168,         // bytes of a packet, header included, that fits
  UDP_LATEST_MAX = 1162,         // into a datagram without and with a key
  UDP_STREAM_WINDOW = 262144,    // stream bytes sent and not acknowledged, or kept
                                 // until those before them come
  UDP_STREAM_STRANGER = 8192,    // the same for a stranger, and for all links
  UDP_STREAM_TOTAL = 64 << 20,   // once the links that are counted together keep this
  UDP_STREAM_UNSENT = 64 << 10,  // stream bytes that wait to be sent for the first time
  UDP_QUEUE_BYTES = 64 << 10,    // bytes of queued packets
  UDP_ACK_DELAY_US = 25 * 1000,  // an acknowledgement waits no longer,
  UDP_ACK_DATAGRAMS = 8,         // and not for more datagrams than that
  UDP_KEEPALIVE_US = 5 * 1000000,  // of silence, then PROBE
  UDP_STUCK_US = 3 * 1000000,      // without an acknowledgement: UDP does not pass
  UDP_GONE_US = 60 * 1000000,      // without one: UDP will not pass any more
  UDP_CLOSE_MAX = 3,               // number of times that CLOSE is sent
};
#define UDP_NEVER UINT64_MAX

typedef struct UdpLink UdpLink;

/// The packet that a full queue drops. The owner learns of drops, and may end the connection
/// instead.
typedef enum UdpOverflow { UDP_DROP_NEWEST, UDP_DROP_OLDEST } UdpOverflow;

typedef struct UdpLinkParams {
  UdpKeys keys;             // of this side (udp_keys_derive); copied
  uint16_t first_sent;      // sequence of the first datagram of this side,
  uint16_t first_received;  // and of the other
  bool is_attached;         // no stream: STREAM items break the protocol
  bool is_unencrypted;      // not sealed
  bool is_stranger;         // see udp_link_trust
  uint32_t queue_capacity;  // packets that may wait, at least 1
  UdpOverflow overflow;
  _Atomic uint64_t
      *kept;  // counts what is kept of the stream, with that of other links,
              // which may be another thread's; NULL: not counted
} UdpLinkParams;

UdpLink *udp_link_new(const UdpLinkParams *params, uint64_t now_us);

/// Trusts the other side: from now on the link keeps up to UDP_STREAM_WINDOW bytes of the
/// stream that came out of order, instead of UDP_STREAM_STRANGER.
void udp_link_trust(UdpLink *link);

/// Frees it and wipes its keys. NULL is allowed.
void udp_link_free(UdpLink *link);

/// Sets new limits of the queue; packets that wait already may stay.
void udp_link_set_queue(UdpLink *link, uint32_t capacity, UdpOverflow overflow);

// --- Input ---

typedef enum UdpTaken {
  UDP_REFUSED,  // not of this connection, forged, a duplicate, too old, or beyond the
                // window of the stream: nothing has changed
  UDP_TAKEN,    // authentic
  UDP_NEWEST,   // authentic and newer than all before: its sender's address may be the
                // right one
  UDP_BROKEN,   // authentic, but breaks the protocol: answer with
                // udp_link_close(CODE_PROTOCOL); only its number has been taken
} UdpTaken;

/// Takes a datagram and opens it in place: `bytes` have to stay until udp_link_next has
/// returned all items. Changes the bytes even if it refuses the datagram.
UdpTaken udp_link_receive(UdpLink *link, uint64_t now_us, uint8_t *bytes, size_t size);

typedef enum UdpArrivalKind {
  UDP_ARRIVAL_PACKET,         // a packet that might have been lost
  UDP_ARRIVAL_STREAM,         // the next bytes of the stream, in order
  UDP_ARRIVAL_PATH_RESPONSE,  // the value of a udp_link_produce_challenge
  UDP_ARRIVAL_CLOSE,          // the other side has ended the connection
} UdpArrivalKind;

typedef struct UdpArrival {
  UdpArrivalKind kind;
  Packet packet;         // PACKET: its payload lies in the datagram
  const uint8_t *bytes;  // STREAM: valid until the next call that takes the link
  size_t size;
  uint64_t value;  // PATH_RESPONSE
  uint16_t code;   // CLOSE
} UdpArrival;

/// Stores the next arrival; returns false when there is none. The link itself handles
/// outdated LATEST packets, duplicates and acknowledgements. You may call all other
/// functions between two calls. The next udp_link_receive drops the arrivals that were not
/// taken, so only a link that is being closed may stop in the middle.
bool udp_link_next(UdpLink *link, UdpArrival *arrival);

/// Keeps arriving stream bytes until udp_link_unthrottle; after that udp_link_next returns
/// them. The other side stops when the window is full.
void udp_link_throttle(UdpLink *link);
void udp_link_unthrottle(UdpLink *link);

// --- Output ---

/// Returns whether a packet may go without the stream: no control packet but BROADCAST, nothing
/// RELIABLE, no REQUEST or RESPONSE. (Its size is another matter.)
bool udp_may_be_lost(const Packet *packet);

/// Queues a packet, header and payload, that udp_may_be_lost and is no longer than
/// UDP_PACKET_MAX, or UDP_LATEST_MAX with a `key`. With a key (not 0) it replaces the one
/// with the same key that still waits, and makes those with it that are on their way
/// outdated. The bytes are copied. Returns how many packets were dropped for want of
/// room: 0, or this one, or old ones for it.
uint32_t udp_link_send(UdpLink *link, const void *packet, size_t size, uint32_t key);

/// Packets that wait in the queue, and their bytes.
typedef struct UdpLinkQueue {
  uint32_t packets;
  uint32_t bytes;
} UdpLinkQueue;
UdpLinkQueue udp_link_queued(const UdpLink *link);

/// Drops all queued packets and returns their number.
uint32_t udp_link_drop_queued(UdpLink *link);

/// Returns the number of stream bytes that udp_link_stream_write takes now: within
/// UDP_STREAM_WINDOW and UDP_STREAM_UNSENT.
size_t udp_link_stream_room(const UdpLink *link);

/// Appends bytes to the stream and returns the number of bytes that it copied, at most
/// udp_link_stream_room. Not for attached links.
size_t udp_link_stream_write(UdpLink *link, const void *bytes, size_t size);

/// Stream bytes written and not yet acknowledged.
size_t udp_link_stream_unacknowledged(const UdpLink *link);

/// Writes the next datagram that may be sent now to the other side, at most
/// UDP_DATAGRAM_MAX bytes. Returns its size; 0: none.
size_t udp_link_produce(UdpLink *link, uint64_t now_us, uint8_t *out);

/// Writes a datagram with only a PATH_CHALLENGE, for a new address that has sent a datagram
/// of `came` bytes that was UDP_NEWEST. Returns its size; 0 if it would be longer than
/// `came`, because an unproven address never gets more bytes than it has sent.
size_t udp_link_produce_challenge(UdpLink *link, uint64_t now_us, uint64_t value,
                                  size_t came, uint8_t *out);

/// Returns the time for the next call of udp_link_produce if nothing arrives and nothing is
/// queued before; a time in the past for at once. UDP_NEVER once the link is closed and
/// CLOSE has been sent.
uint64_t udp_link_deadline(const UdpLink *link);

// --- The end, and how it is ---

/// Ends the connection: drops queue and stream, and makes udp_link_produce write CLOSE, again for
/// each datagram that still comes, UDP_CLOSE_MAX times in all. udp_link_next returns nothing
/// more. Does nothing after the first call, or after CLOSE from the other side.
void udp_link_close(UdpLink *link, Code code);

/// Returns whether either side has closed it.
bool udp_link_is_closed(const UdpLink *link);

typedef enum UdpPassing {
  UDP_PASSES,
  UDP_STUCK,  // nothing was acknowledged for UDP_STUCK_US, although acknowledgements were
              // due
  UDP_GONE,  // nor for UDP_GONE_US
} UdpPassing;

/// Returns whether datagrams arrive. A stuck link continues to probe, once a second.
UdpPassing udp_link_passing(const UdpLink *link, uint64_t now_us);

typedef struct UdpLinkStats {
  uint64_t rtt_us;         // smoothed round trip; 0 before the first sample
  uint64_t rtt_newest_us;  // the last sample, with its wait for an acknowledgement
  uint64_t rtt_min_us;     // of about the last 10 s
  uint64_t rtt_deviation_us;
  uint64_t rate;  // measured delivery rate of the line in bytes a second; 0: not known
  uint64_t sent;  // datagrams
  uint64_t sent_bytes;
  uint64_t received;  // datagrams that were authentic and new
  uint64_t received_bytes;
  uint64_t refused;       // datagrams that were not
  uint64_t acknowledged;  // of those sent
  uint64_t lost;          // taken for lost
  uint64_t spurious;      // of these, acknowledged after all
  uint64_t resent_bytes;  // of the stream
  uint64_t dropped;       // packets that found no room in the queue
} UdpLinkStats;

UdpLinkStats udp_link_stats(const UdpLink *link);
