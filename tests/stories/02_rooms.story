# Rooms and their members; names.

# Connects a client; fields of WELCOME may follow.
define open
  call  connect
  gets  HELLO
  sends WELCOME $
  sees  connected

# Connects a client, which joins room 5, "arena", with bob and cleo.
define open_room
  open  $
  call  join arena
  gets  JOIN arena request
  sends JOINED members={"9":"bob","10":"cleo"} answer
  sees  joined call=join room=arena members={"9":"bob","10":"cleo"}

= A room is joined, and lists its members
open_room

= A room that cannot be joined
open
call  join arena
gets  JOIN arena
sends ERROR RoomFull "four at most" answer
sees  failed call=join code=RoomFull text="four at most"
call  join nowhere
gets  JOIN nowhere
sends ERROR NoSuchRoom answer
sees  failed call=join code=NoSuchRoom

= A room is left
open_room
call  leave arena
gets  LEAVE 5 request
sends LEFT 5 answer
sees  left call=leave room=arena code=ConnectionClosed

= Members come and go
open_room
sends PEER_JOINED 5 11 dora
sees  peer_joined room=arena id=11 name=dora
sends PEER_LEFT 5 9
sees  peer_left room=arena id=9 name=bob
call  members arena
sees  members members={"10":"cleo","11":"dora"}

= Members, and the client itself, get new names
open_room
sends PEER_RENAMED 5 9 rob
sees  peer_renamed room=arena id=9 name=rob before=bob
sends PEER_RENAMED 5 7 zoe
sends PEER_RENAMED 0 7 zoe
sees  peer_renamed room=null id=7 name=zoe before=guest
sends PEER_RENAMED 0 7 zoe
sends PEER_RENAMED 99 9 x
call  state
sees  state name=zoe
call  members arena
sees  members members={"9":"rob","10":"cleo"}

= A name that the server gives with WELCOME
call  connect name=ann
gets  HELLO name=ann
sends WELCOME
sends PEER_RENAMED 0 7 "ann the 2nd"
sees  connected
sees  peer_renamed id=7 name="ann the 2nd" before=ann

= The game puts a client into a room and out of it
open
sends JOINED 6 duel members={"9":"bob"}
sees  joined call=null room=duel members={"9":"bob"}
sends LEFT 6 Kicked
sees  left call=null room=duel code=Kicked

= An answer of another kind is no answer
open
call  join arena
gets  JOIN arena
sends LEFT 5 answer
sees  failed call=join code=Protocol
call  join arena
gets  JOIN arena
sends ROOMS [[5,"arena",3]] answer
sees  failed call=join code=Protocol
call  join arena
gets  JOIN arena
sends CHANNEL_OPENED 1000 ai answer
sees  failed call=join code=Protocol
gets  CHANNEL_CLOSE 1000
call  rooms
gets  ROOM_LIST
sends JOINED 6 duel answer
sees  failed call=rooms code=Protocol
also  joined call=null room=duel

= A request that takes too long
open
call  join arena timeout=0.03
gets  JOIN arena
sees  failed call=join code=Timeout
sends ERROR NoSuchRoom answer

= Rooms are listed
open
call  rooms
gets  ROOM_LIST request
sends ROOMS [[5,"arena",3],[6,"duel",0]] answer
sees  rooms rooms=[{"name":"arena","members":3},{"name":"duel","members":0}]

= A room is joined with options
open
call  join arena options={"role":"spectator","code":1}
gets  JOIN_WITH arena {"role":"spectator","code":1} request
sends JOINED answer
sees  joined call=join room=arena

= A room whose password is wrong
open
call  join arena options={"password":"x"}
gets  JOIN_WITH arena {"password":"x"}
sends ERROR Unauthorized "the room needs its password" answer
sees  failed call=join code=Unauthorized text="the room needs its password"

= Rooms are listed by a query
open
call  list query={"kind":"duel","open":true,"meta":{"map":"ice"},"limit":20,"after":"duel:1"}
gets  ROOM_QUERY {"kind":"duel","open":true,"meta":{"map":"ice"},"limit":20,"after":"duel:1"} request
sends ROOMS_META {"rooms":[{"name":"duel:2","count":1,"meta":{"map":"ice"}}],"next":"duel:2"} answer
sees  found call=list value={"rooms":[{"name":"duel:2","count":1,"meta":{"map":"ice"}}],"next":"duel:2"}
call  list query={}
gets  ROOM_QUERY {} request
sends ROOMS_META {"rooms":[{"name":"duel:3"}],"next":null} answer
sees  found call=list value={"rooms":[{"name":"duel:3"}],"next":null}
call  list query={"limit":0}
gets  ROOM_QUERY {"limit":0} request
sends ERROR Protocol answer
sees  failed call=list code=Protocol

= A name of a room that is none is not sent
open
call  join x*300
sees  failed call=join code=Protocol

= What is sent about a room that was left is not sent
open_room
sends LEFT 5 Kicked
sees  left room=arena code=Kicked
call  send a 1 room=arena
sees failed call=send code=NotInRoom
call  leave arena
sees  failed call=leave code=NotInRoom
