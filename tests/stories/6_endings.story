# When a client comes back, when it gives up, and how it ends.

define is_final
  open  token=3
  sends CLOSING $ because
  lua: server ends
  differs lua: waits until the server has ended the connection
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

= A packet before WELCOME breaks the protocol
call  connect
gets  HELLO
sends JOINED
sees  failed call=connect code=Protocol

= A second WELCOME breaks the protocol
open
sends WELCOME
sees  closed code=Protocol

= A header that breaks the rules
open
sends bytes hex=000006000400000000000000
sees  closed code=Protocol

= Flags that there are not
open
sends bytes hex=000006000208000000000000
sees  closed code=Protocol

= A request that is a response
open
sends bytes hex=000006000206000000000000
sees  closed code=Protocol

= A packet of 4 GiB
open
sends bytes hex=0000060002000000ffffffff
sees  closed code=Protocol

= Another kind of server
call  connect
gets  HELLO
sends bytes hex=485454502f312e31203430302042616420526571756573740d0a
sees  failed call=connect code=Protocol

= A message that is no JSON
open
sends MESSAGE body=nonsense
sees  closed code=Protocol

= A message that is not a name and a value
open
sends MESSAGE body="[1,2]"
sees  closed code=Protocol
