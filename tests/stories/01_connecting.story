# Handshakes, refusals, and the fields of WELCOME.

= HELLO has the client's name, and WELCOME its peer id
call  connect name=ann token=secret
gets  HELLO version=1 hash=0 name=ann token=secret resume=0 received=0
sends WELCOME id=42 session=17 max=1000 tick=30 time=5000000
sees  connected id=42 name=ann session=11111111-1111-1111-1111-111111111111 max=1000 tick=30 time=5

= A client without a name is a guest
call  connect
gets  HELLO name=guest token="" resume=0
sends WELCOME
sees  connected name=guest

= A rejected client gets the reason
call  connect
gets  HELLO
sends REJECTED Rejected "not today"
server ends
sees  failed call=connect code=Rejected text="/not today/"

= A full server is an error that may pass, and ends the first try all the same
call  connect
gets  HELLO
sends REJECTED ServerFull
server ends
sees  failed call=connect code=ServerFull

= A client of another version, or with another schema, is rejected
call  connect
gets  HELLO
sends REJECTED VersionMismatch
server ends
sees  failed call=connect code=VersionMismatch
call  connect
gets  HELLO
sends REJECTED ProtocolHashMismatch
server ends
sees  failed call=connect code=ProtocolHashMismatch

= A connection that is lost before WELCOME fails
call  connect
gets  HELLO
server cuts
sees  failed call=connect code=ConnectionReset

= A connection that ends before WELCOME
call  connect
gets  HELLO
server ends
sees  failed call=connect code=ConnectionClosed

= A server that never answers
call  connect timeout=0.3
gets  HELLO
sees  failed call=connect code=Timeout

= A client cannot connect where no server listens
server stops
call  connect timeout=1
sees  failed call=connect code=Unreachable

= A server ends the connection with CLOSING before WELCOME
call  connect
gets  HELLO
sends CLOSING HandshakeTimeout "no HELLO in time"
server ends
sees  failed call=connect code=HandshakeTimeout

= A server that is not ready yet is tried again
call  connect
gets  HELLO
sends REJECTED Unavailable "the game starts" seconds=0
server ends
sees  reconnecting attempt=1
gets  HELLO resume=0 received=0
sends WELCOME
sees  connected

= A server that is not ready yet ends a client that does not reconnect
call  connect reconnect=false
gets  HELLO
sends REJECTED Unavailable "the game starts" seconds=3
server ends
sees  failed call=connect code=Unavailable

= A client that waits for a server gives up at last
call  connect for=0.02 first=0.01 max=0.01
gets  HELLO
sends REJECTED Unavailable "the game starts" seconds=1
server ends
sees  failed call=connect code=Unavailable

= A name that is too long is not sent
call  connect name=x*300
sees  failed call=connect code=Protocol
