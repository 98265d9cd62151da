# A later version of the protocol: longer payloads, other values, other types. Clients ignore fields and types
# that they do not know.

= A longer WELCOME
open  extra=0x0102030405

= A longer REJECTED
call  connect
gets  HELLO
sends REJECTED Rejected no extra=0x0102
server ends
sees  failed call=connect code=Rejected text=/no/

= A longer REJECTED that says when to come again
call  connect
gets  HELLO
sends REJECTED Unavailable soon seconds=0 extra=0x0102
server ends
sees  reconnecting
gets  HELLO

= A longer CLOSING
open  token=3
sends CLOSING Kicked because extra=0x0102
sees  closed code=Kicked text=because

= A longer JOINED, LEFT, PEER_JOINED, PEER_LEFT, PEER_RENAMED
open
call  join arena
gets  JOIN
sends JOINED members={"9":"bob"} answer extra=0x0102
sees  joined room=arena members={"9":"bob"}
sends PEER_JOINED 5 10 cleo extra=0x0102
sees  peer_joined id=10 name=cleo
sends PEER_RENAMED 5 10 zoe extra=0x01
sees  peer_renamed id=10 name=zoe
sends PEER_LEFT 5 10 extra=0x00
sees  peer_left id=10
call  leave arena
gets  LEAVE
sends LEFT answer extra=0x0102
sees  left room=arena

= A longer ERROR, ROOMS, CHANNEL_OPENED, REDIRECT, DEV_ASSET, DEV_ERROR
open
call  rooms
gets  ROOM_LIST
sends ROOMS [[5,"arena",3]] answer extra=0x0102
sees  rooms rooms=[{"name":"arena","members":3}]
call  ask a
gets  MESSAGE a
sends ERROR Internal failed answer extra=0x0102
sees  failed call=ask code=Internal text=failed
call  serve ai
gets  CHANNEL_OPEN
sends CHANNEL_OPENED 1000 ai answer extra=0x0102
sees  channel_opened channel=1000
sends REDIRECT other.example 7778 extra=0x0102
sees  redirect host=other.example port=7778
sends DEV_ASSET style.css extra=0x0102
sends DEV_ERROR "" extra=0x0102
quiet

= A longer PING, PONG, ACK
open  token=3
sends PING 4660 extra=0x0102
gets  PONG 4660
call  send a
gets  MESSAGE a
call  sync
sends ACK 1 extra=0x0102
sees  synced
server lengthens-pongs
call  ping
sees  pong

= A control packet of a type that there is not
open
sends bytes hex=0000fa0002000000010000007a
quiet

= `resumed` of a value that there is not is a new session
open  token=3 resumed=3
lost  resumed=3
sees  lost
call  state
sees  state id=8
