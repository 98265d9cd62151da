# When a client comes back, when it gives up, and how it ends.

define is_final
  open  token=3
  sends CLOSING $ because
  sees  closed code=$ text=because

define may_pass
  open  token=3
  sends CLOSING $ because
  server ends
  sees  disconnected code=$ text=because
  sees  reconnecting attempt=1
  gets  HELLO resume=3
  sends WELCOME resumed=1 token=4
  sees  resumed

= Kicked is final
is_final Kicked

= Replaced is final
is_final Replaced

= Rejected is final
is_final Rejected

= Protocol is final
is_final Protocol

= PayloadTooLarge is final
is_final PayloadTooLarge

= RateLimited is final
is_final RateLimited

= Unauthorized, Unsupported and another version are final
is_final Unauthorized
is_final Unsupported
is_final VersionMismatch
is_final ProtocolHashMismatch

= IdleTimeout may pass
may_pass IdleTimeout

= PingTimeout may pass
may_pass PingTimeout

= ServerFull may pass
may_pass ServerFull

= Internal may pass
may_pass Internal

= SlowConsumer may pass
may_pass SlowConsumer

= A code of a later version may pass
open  token=3
sends CLOSING 999 because
server ends
sees  disconnected code=Unknown text=because
sees  reconnecting
gets  HELLO resume=3

= A return that finds no place is tried again; one that is refused is the end
open  token=3
returns
sends REJECTED ServerFull
server ends
sees  reconnecting attempt=2 delay=0.001..0.002
gets  HELLO resume=3
sends REJECTED Rejected banned
server ends
sees  closed code=Rejected text=banned

= Pauses double up to a limit
call  connect first=0.004 max=0.012
gets  HELLO
sends WELCOME token=3
sees  connected
server cuts
sees  disconnected
sees  reconnecting attempt=1 delay=0.002..0.004
gets  connection
server cuts
sees  reconnecting attempt=2 delay=0.004..0.008
gets  connection
server cuts
sees  reconnecting attempt=3 delay=0.006..0.012
gets  connection
server cuts
sees  reconnecting attempt=4 delay=0.006..0.012
gets  connection

= A client gives up after the time that it was given
call  connect first=0.01 max=0.01 for=0.005
gets  HELLO
sends WELCOME token=3
sees  connected
call  ask a
gets  MESSAGE a
server cuts
sees  disconnected
sees  failed call=ask code=/Connection(Reset|Closed)/
also  closed code=/Connection(Reset|Closed)/

= Without reconnect a lost connection is the end
call  connect reconnect=false
gets  HELLO
sends WELCOME token=3
sees  connected
server cuts
sees  closed code=/Connection(Reset|Closed)/

= A server that stops is asked again after the seconds that it said
call  connect for=1000
gets  HELLO
sends WELCOME token=3
sees  connected
sends CLOSING Unavailable "the server is shutting down" seconds=300
server ends
sees  disconnected code=Unavailable text="the server is shutting down"
sees  reconnecting attempt=1 delay=300..451

= A server that is not available for longer than the client has patience
call  connect for=5
gets  HELLO
sends REJECTED Unavailable soon seconds=7
server ends
sees  failed call=connect code=Unavailable text=/soon/

= The first connection is tried again, also where there is no place then
call  connect
gets  HELLO
sends REJECTED Unavailable soon seconds=0
server ends
sees  reconnecting attempt=1
gets  HELLO
sends REJECTED ServerFull
server ends
sees  reconnecting attempt=2
gets  HELLO
sends WELCOME
sees  connected

= Unavailable says for how long, or breaks the protocol
open  token=3
sends CLOSING Unavailable soon
sees  closed code=Protocol

= To close is to say BYE, after all that was sent
open  token=3
call  send a
call  close
gets  MESSAGE a
gets  BYE
server ends
sees  closed code=ConnectionClosed

= A client that is closed ends what waits
open
call  ask a
gets  MESSAGE a
call  close
gets  BYE
server ends
sees  failed call=ask code=ConnectionClosed
also  closed code=ConnectionClosed

= A client that is closed while it is away says nothing
call  connect first=100 max=100 for=1000
gets  HELLO
sends WELCOME token=3
sees  connected
server cuts
sees  disconnected
sees  reconnecting
call  close
sees  closed code=ConnectionClosed

= A server that does not answer BYE is not waited for
open
call  close
gets  BYE
sees  closed code=ConnectionClosed

= A server that accepts and says nothing
call  connect timeout=10
gets  HELLO
time  9
time  1.5
sees  failed call=connect code=Timeout

= A server that falls silent is pinged after 5 s, and given up after 10 s
open  token=3
quiet
server falls-silent
time  4
call  state
sees  state state=open
time  1.5
gets  PING
time  3.5
call  state
sees  state state=open
time  1.5
sees  disconnected code=PingTimeout text="the server does not answer"
sees  reconnecting

= A server that falls silent ends what waits after its timeout
open  token=3
quiet
server falls-silent
call  ask a timeout=3
gets  MESSAGE a
time  2
time  1.5
sees  failed call=ask code=Timeout
server cuts
sees  disconnected
sees  reconnecting

= A server that goes on talking is not silent, though it answers no ping
open  token=3
quiet
server falls-silent
time  6
gets  PING
server ignores-pings
sends MESSAGE a 1
sees  message name=a
time  5
call  state
sees  state state=open
time  5
sees  disconnected code=PingTimeout
sees  reconnecting

= A ping while there is no connection
open  token=3
returns
call  ping
sees  failed call=ping code=ConnectionReset
sends WELCOME resumed=1 token=4
sees  resumed

= Closed, a client does nothing more
open
call  close
gets  BYE
server ends
sees  closed
call  send a
sees  failed call=send code=ConnectionClosed

# The server sends a packet that breaks the protocol. The client ends, and does not reconnect.
define breaks
  open  token=3
  sends $
  sees  closed code=Protocol

define breaks_early
  call  connect
  gets  HELLO
  sends $
  sees  failed call=connect code=Protocol

= A packet before WELCOME
breaks_early JOINED
breaks_early MESSAGE a
breaks_early PACKET 3000 1

= A malformed WELCOME
breaks_early WELCOME version=2
breaks_early WELCOME resumed=1
breaks_early WELCOME cut=94
breaks WELCOME

= Another kind of server
breaks_early bytes hex=485454502f312e31203430302042616420526571756573740d0a

= A header that breaks the rules
breaks bytes hex=000006000400000000000000
breaks bytes hex=000006000208000000000000
breaks bytes hex=000006000206000000000000
breaks bytes hex=0000060002000000ffffffff

= A control payload that is cut off
breaks JOINED cut=15
breaks JOINED members={"9":"bob"} cut=22
breaks LEFT cut=5
breaks PEER_JOINED 5 9 bob cut=10
breaks PEER_LEFT 5 9 cut=7
breaks PEER_RENAMED 5 9 bob cut=10
breaks RELAYED 5 cut=7 from=9
breaks ERROR Internal cut=4
breaks PING cut=7
breaks PONG cut=7
breaks ACK 0 cut=3
breaks REDIRECT h 1 cut=3

= A JOINED of another client
breaks JOINED self=8

= A name that is not UTF-8
breaks PEER_JOINED 5 9 0xc328

= A count of packets that were never sent
breaks ACK 1

= A malformed message
breaks MESSAGE body=nonsense
breaks MESSAGE body="[1,2]"
breaks MESSAGE body="[\"a\"]"
breaks MESSAGE body="[\"a\",]"
breaks MESSAGE body=0x5b2261c328222c315d
breaks MESSAGE a cut=3

= A message of more than a name and a value
breaks MESSAGE body="[\"a\",1,2]"
breaks MESSAGE body="[\"a\",1 2]"
breaks MESSAGE body="[\"a\",01]"
breaks MESSAGE body="[\"a\",{b:1}]"

= A malformed FAULT
breaks FAULT "" 1
breaks FAULT A 1 cut=1
breaks FAULT A {"b":1} cut=5
breaks bytes hex=00009200020000000400000002410031

= A malformed FAULT answers a request
open token=3
call  ask a
gets  MESSAGE a
sends FAULT A {"b":1} answer cut=5
sees  closed code=Protocol
also  failed call=ask code=Protocol

= A packet of a served channel without its sender
serving
sends PACKET 1000 1 hi
sees  closed code=Protocol
also  channel_closed name=ai code=Protocol
