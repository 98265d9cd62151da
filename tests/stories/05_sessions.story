# Sessions that outlive their connections: packets that are sent again, and rooms that are brought up to date.

# The connection breaks, and the client comes back with its token. Some systems report the last bytes and a
# reset as an end.
define returns
  server cuts
  sees  disconnected code=/Connection(Reset|Closed)/
  sees  reconnecting attempt=1 delay=0.0005..0.001
  gets  HELLO resume=3

define resumed
  returns
  sends WELCOME resumed=1 token=4 $
  sees  resumed

# Another session begins in its place.
define lost
  returns
  sends WELCOME id=8 token=9 $

= What the server has not got is sent again
open  token=3
call  send a 1
call  send a 2
call  send a 3
call  send b unreliable
gets  MESSAGE a 1 reliable
gets  MESSAGE a 2 reliable
gets  MESSAGE a 3 reliable
gets  MESSAGE b reliable=false
sends ACK 1
quiet
server cuts
sees  disconnected code=/Connection(Reset|Closed)/
sees  reconnecting
gets  HELLO resume=3 received=0
call  send a 4
call  send b unreliable
sends WELCOME resumed=1 token=4 received=2
sees  resumed count=2
gets  MESSAGE a 3
gets  MESSAGE a 4
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=4
sends WELCOME resumed=1 token=5 received=4
sees  resumed count=0

= What arrived is counted and acknowledged, in HELLO too
open  token=3
sends PACKET 3000 1 reliable times=128
sends PACKET 3000 2
sees  packet number=1 times=128
sees  packet number=2
gets  ACK 128
sends PACKET 3000 1 reliable
sees  packet number=1
gets  ACK 129
sends PACKET 3000 1 reliable
sees  packet number=1
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=3 received=130

= What was sent before the end is taken
open  token=3
sends PACKET 3000 1 reliable
sends CLOSING ConnectionClosed "the server restarts"
server ends
sees  packet
sees  disconnected code=ConnectionClosed text="the server restarts"
sees  reconnecting
gets  HELLO received=1

= Requests wait through a resume
open  token=3
call  ask a
gets  MESSAGE a reliable as=asked
call  join arena
gets  JOIN arena reliable as=joining
resumed received=2
# The answer to JOIN was lost. The list of rooms after a resume replaces it.
sends JOINED members={"9":"bob"}
sends ACK 2
sends MESSAGE a 1 answer=asked
sees  joined call=join room=arena members={"9":"bob"}
sees  answer call=ask value=1
sends JOINED members={"9":"bob"} answer=joining

= A refusal that was lost comes again
open  token=3
call  join arena
gets  JOIN arena
resumed received=1
sends ACK 1
sends ERROR RoomFull answer reliable
sees  failed call=join code=RoomFull

= Questions and requests made meanwhile wait
open  token=3
returns
call  ask a timeout=5
call  rooms
sends WELCOME resumed=1 token=4
sees  resumed
gets  MESSAGE a as=asked
gets  ROOM_LIST
sends ROOMS [[5,"arena",3]] answer
sees  rooms
sends MESSAGE a 1 answer=asked
sees  answer value=1

= A question of the game is answered on the next connection
open  token=3
sends MESSAGE sum 1 request ref=77 reliable
sees  question name=sum
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO received=1
call  answer 3
sends WELCOME resumed=1 token=4
sees  resumed
gets  MESSAGE sum 3 response ref=77 reliable

= Rooms are brought up to date by a resume
open_room token=3
call  join duel
gets  JOIN duel
sends JOINED 6 duel answer
sees  joined
resumed received=2
sends JOINED members={"10":"cleo","11":"dora"}
sends ACK 2
sees  peer_left id=9 name=bob
also  peer_joined id=11 name=dora
sees  left room=duel code=NotInRoom
sends ACK 2
call  members arena
sees  members members={"10":"cleo","11":"dora"}

= A member that got another name meanwhile
open_room token=3
resumed received=1
sends JOINED members={"9":"rob","10":"cleo"}
sends ACK 1
sees  peer_renamed room=arena id=9 name=rob before=bob

= The client got another name meanwhile
open_room token=3
resumed received=1
sends PEER_RENAMED 0 7 zoe
sends JOINED members={"9":"bob","10":"cleo"}
sends ACK 1
sees  peer_renamed id=7 name=zoe

= A room that was being left when the line was cut is left
open_room token=3
call  leave arena
gets  LEAVE 5
resumed received=2
sends ACK 2
sees  left call=leave room=arena code=ConnectionClosed

= 1024 reliable packets wait for the server at most
open  token=3
returns
call  send a times=1024
call  send a
sees  failed call=send code=QueueFull
call  ask a
sees  failed call=ask code=QueueFull
call  join arena
sees  failed call=join code=QueueFull
call  send b unreliable
sends WELCOME resumed=1 token=4
sees  resumed
gets  MESSAGE a times=1024
sends ACK 1024
quiet
call  send a
gets  MESSAGE a

= sync waits until the server has received everything
open  token=3
call  send a 1
call  sync
gets  MESSAGE a 1
quiet
sends ACK 1
sees  synced

= Without resume, sync sends a ping
open
call  send a 1
call  sync
gets  MESSAGE a 1
sees  synced

= After a lost session, a new one joins the same rooms
open_room token=3
sends JOINED 6 duel
sees  joined room=duel
call  ask a
gets  MESSAGE a
lost
sees  failed call=ask code=ConnectionReset
also  left room=duel code=ConnectionReset
also  lost count=2
gets  JOIN arena
sends JOINED 55 arena 8 {"9":"bob","12":"emil"} answer
sees peer_left id=10 name=cleo
also peer_joined id=12 name=emil
sees  joined room=arena members={"9":"bob","12":"emil"}
call  send a room=arena
gets  MESSAGE a room=55
call  state
sees  state id=8

= Rooms are joined again in their order
open_room token=3
call  join duel
gets  JOIN duel
sends JOINED 6 duel answer
sees  joined
lost
gets  JOIN arena as=one
gets  JOIN duel as=two
sends JOINED 55 arena 8 answer=one
sends JOINED 56 duel 8 answer=two
sees  lost
sees peer_left times=2
sees  joined room=arena
sees  joined room=duel

= A room is joined again with the options of its join
open  token=3
call  join arena options={"role":"spectator"}
gets  JOIN_WITH arena {"role":"spectator"}
sends JOINED answer
sees  joined
lost
gets  JOIN_WITH arena {"role":"spectator"}
sends JOINED 55 arena 8 answer
sees  lost
sees  joined room=arena
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=9
sends WELCOME id=10 token=11
sees  lost
gets  JOIN_WITH arena {"role":"spectator"}

= A room that cannot be joined again is left
open_room token=3
lost
gets  JOIN arena
sees  lost
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=9
sends WELCOME id=10 token=11
sees  lost
gets  JOIN arena
sends ERROR NoSuchRoom answer
sees  left room=arena code=NoSuchRoom

= A room that the game puts its client into again is the same
open_room token=3
lost
gets  JOIN arena
sees  lost
sends JOINED 60 arena 8 {"9":"bob","10":"cleo"}
sees  joined room=arena
sends ERROR AlreadyInRoom answer
quiet
call  send a room=arena
gets  MESSAGE a room=60

= Without rejoin, rooms are left
call  connect rejoin=false
gets  HELLO
sends WELCOME token=3
sees  connected
call  join arena
gets  JOIN arena
sends JOINED answer
sees  joined
lost
sees  left room=arena code=ConnectionReset
also  lost

# The server has restarted, and has the session again.
define restored
  returns
  sends WELCOME resumed=2 token=4 $

= A restarted server continues the session without its packets
open_room token=3
call  join duel
gets  JOIN duel
sends JOINED 6 duel answer
sees  joined
sends PACKET 3000 1 reliable
sees  packet
call  send a 1
gets  MESSAGE a 1
call  ask b
gets  MESSAGE b
restored received=99
sees  failed call=ask code=ConnectionReset
also  restored count=4
sends JOINED members={"10":"cleo"}
sends ACK 0
sees  peer_left id=9 name=bob
sees  left room=duel code=NotInRoom
call  send a 2
gets  MESSAGE a 2
sends ACK 1
sends PACKET 3000 1 reliable
sees  packet
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=4 received=1
sends WELCOME resumed=1 token=5 received=1
sees  resumed count=0

= A join that a restart has cut off is in the list of rooms or has failed
open  token=3
call  join arena
gets  JOIN arena
restored
sees  failed call=join code=ConnectionReset
also  restored count=1
sends JOINED members={"9":"bob"}
sends ACK 0
sees  joined room=arena members={"9":"bob"}

= A server that keeps no sessions
open
call  send a
gets  MESSAGE a
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=0 received=0
sends WELCOME id=8
sees  lost count=0

= A question of a session that is lost has no answer
open  token=3
sends MESSAGE sum 1 request ref=77
sees  question
lost
sees  lost
call  answer 1
c lua: sees failed call=answer code=ConnectionClosed
differs js ws: the result of a handler is the answer, so the program makes no call that could fail
quiet

= A sync fails when the session is lost
open  token=3
call  send a
call  sync
gets  MESSAGE a
lost
sees  failed call=sync code=ConnectionReset
also  lost count=1
