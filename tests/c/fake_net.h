// A net without sockets: implements net/net.h, records written messages, and plays the
// other side of each connection. Its time moves by fake_advance alone.
#pragma once

#include "net/net.h"
#include "wire/reader.h"

/// One message that the other side received.
typedef struct Sent {
  Packet
      packet;  // sent packet, with FRAMING_PACKETS; the payload lives as long as the Net
  Text line;   // sent line, with FRAMING_LINES, without the end of the line
  uint8_t priority;  // place in the stream, from the Out
  uint8_t flags;
  uint64_t key;
  GroupId group;  // group to which it was sent; 0: sent to this connection alone
} Sent;

/// Opens a connection of the other side. After a refusal, its messages can still be
/// read.
ConnId fake_open(Net *net, Framing framing, const char *address);

/// Sends from the other side. Input of a throttled connection waits until after
/// net_unthrottle.
void fake_packet(Net *net, ConnId conn, const Packet *packet);
void fake_line(Net *net, ConnId conn, const char *text);

/// Reads the input that waited during the throttling.
void fake_read(Net *net, ConnId conn);

/// Ends the connection from the other side.
void fake_end(Net *net, ConnId conn, Code code);

/// Reports a fault of the connection, as a Net does.
void fake_fault(Net *net, ConnId conn, Code code, const char *text);

/// Reports dropped messages, as a Net does.
void fake_drops(Net *net, ConnId conn, uint32_t tag, uint32_t dropped, uint32_t queued);

/// Returns the next message to the connection, or NULL. It is valid until the Net ends.
const Sent *fake_next(Net *net, ConnId conn);

/// Returns the number of messages to the connection; one message may hold several
/// packets.
uint32_t fake_writes(Net *net, ConnId conn);

/// Returns whether the server has closed the connection.
bool fake_is_closed(Net *net, ConnId conn);
bool fake_is_throttled(Net *net, ConnId conn);

/// Returns how many throttles of a connection have not been undone.
int fake_holds(Net *net, ConnId conn);
uint32_t fake_max_payload(Net *net, ConnId conn);

/// Returns the number of groups that the connection is in.
uint32_t fake_group_count(Net *net, ConnId conn);

/// Returns the number of open groups, or of writes to groups so far.
uint32_t fake_groups(Net *net);
uint64_t fake_group_writes(Net *net);

/// Lets `ms` pass, and calls each due timer at its time.
void fake_advance(Net *net, uint64_t ms);

/// Lets `ms` pass at once, as if the process had been stopped.
void fake_jump(Net *net, uint64_t ms);
