// A net without sockets: implements net/net.h by recording what is written, and plays
// the other side of each connection. Time stands still until fake_advance.
#pragma once

#include "net/net.h"
#include "wire/reader.h"

/// One message as the other side got it.
typedef struct Sent {
  Packet
      packet;  // of a FRAMING_PACKETS connection; the payload lives as long as the Net
  Text line;   // of a FRAMING_LINES connection, without its end
  uint8_t priority;  // what Out said: its place in the stream
  uint8_t flags;
  uint64_t key;
  GroupId group;  // 0: sent to it alone
} Sent;

/// The other side opens a connection. Its messages can still be read when it was
/// refused.
ConnId fake_open(Net *net, Framing framing, const char *address);

/// The other side sends. While the connection is held it waits until after net_unthrottle.
void fake_packet(Net *net, ConnId conn, const Packet *packet);
void fake_line(Net *net, ConnId conn, const char *text);

/// Reads the input that waited while the connection was held.
void fake_read(Net *net, ConnId conn);

/// The other side ends the connection.
void fake_end(Net *net, ConnId conn, Code code);

/// Net finds fault with the connection.
void fake_fault(Net *net, ConnId conn, Code code, const char *text);

/// Net reports dropped messages.
void fake_drops(Net *net, ConnId conn, uint32_t tag, uint32_t dropped, uint32_t queued);

/// The next message the connection got, or NULL. Valid until the Net ends.
const Sent *fake_next(Net *net, ConnId conn);

/// How many messages were written to the connection; one may hold several packets.
uint32_t fake_writes(Net *net, ConnId conn);

/// Whether the server has closed it.
bool fake_is_closed(Net *net, ConnId conn);
bool fake_is_throttled(Net *net, ConnId conn);

/// Returns the number of holds of a connection.
int fake_holds(Net *net, ConnId conn);
uint32_t fake_max_payload(Net *net, ConnId conn);

/// How many groups the connection is in.
uint32_t fake_group_count(Net *net, ConnId conn);

/// Groups that are open; writes to groups so far.
uint32_t fake_groups(Net *net);
uint64_t fake_group_writes(Net *net);

/// Lets `ms` pass, timer by timer.
void fake_advance(Net *net, uint64_t ms);

/// Lets `ms` pass at once, as when the process was stopped.
void fake_jump(Net *net, uint64_t ms);
