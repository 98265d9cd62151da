# Messages in JSON, questions in both directions, relayed bytes, packets and errors.

= Messages to the game and about a room
open_room
call  send a {"x":1}
gets  MESSAGE a {"x":1} room=0 request=false priority=2
call  send a [1,2] room=arena priority=high
gets  MESSAGE a [1,2] room=5 priority=1
call  send a unreliable
gets  MESSAGE a null reliable=false

= Messages of the game
open_room
sends MESSAGE a {"x":1}
sees  message name=a value={"x":1} room=null
sends MESSAGE b room=5 reliable
sees  message name=b value=null room=arena
sends MESSAGE c 1 room=99
sends MESSAGE c "hé"
sees  message name=c value="hé"

= JSON in other words
open
sends MESSAGE body=" [ \"a\" , {\"n\\u00e9\\ud83d\\ude00\\t\":[1,\"]\"]} ] "
sees  message name=a value={"né😀\t":[1,"]"]}

= A question, and its answer
open_room
call  ask a [1] room=arena
gets  MESSAGE a [1] room=5 request
sends MESSAGE a 12 room=5 answer
sees  answer call=ask value=12
call  ask b
gets  MESSAGE b null room=0 request
sends MESSAGE b null answer
sees  answer call=ask value=null

= Answers come in any order
open
call  ask a
gets  MESSAGE a as=first
call  ask b
gets  MESSAGE b as=second
sends MESSAGE b 2 answer=second
sees  answer value=2
sends MESSAGE a 1 answer=first
sees  answer value=1

= A question that fails, and one that takes too long
open
call  ask a
gets  MESSAGE a
sends ERROR Unsupported "no handler" answer
sees  failed call=ask code=Unsupported text="no handler"
call  ask b timeout=0.03
gets  MESSAGE b
sees  failed call=ask code=Timeout
sends MESSAGE b 1 answer

= Errors of the game answer a question, a join and a channel, and come by themselves
open_room
call  ask a
gets  MESSAGE a
sends FAULT Cheater {"line":3} answer
sees  failed call=ask code=Cheater value={"line":3} text="Cheater: {\"line\":3}"
call  ask a room=arena
gets  MESSAGE a room=5
sends FAULT Timeout answer
sees  failed call=ask code=Timeout text=Timeout
call  join club
gets  JOIN club
sends FAULT "Members only" 5 answer
sees  failed call=join code="Members only" value=5
call  serve ide
gets  CHANNEL_OPEN ide
sends FAULT NoPlugins [1] answer
sees  failed call=serve code=NoPlugins value=[1]
call  ask_packet 4000 3 x
gets  PACKET 4000 3 x
sends FAULT NoPackets false answer
sees  failed call=ask_packet code=NoPackets value=false
sends FAULT Cheater {"line":4}
sees  error code=Cheater value={"line":4}
sends FAULT Late 1 answer
quiet

= Nobody else can answer a question
open
call  ask a
gets  MESSAGE a as=asked
sends PACKET 3000 4 forged answer=asked
sends MESSAGE a 1 answer=asked
sees  answer value=1

= The game's questions are answered
open_room
sends MESSAGE sum [1,2] request ref=77
sees  question name=sum value=[1,2] room=null
sends MESSAGE sum [3] room=5 request ref=78 reliable
sees  question name=sum value=[3] room=arena
call  answer 3
gets  MESSAGE sum 3 room=0 response ref=77
call  answer {"n":3}
gets  MESSAGE sum {"n":3} room=5 response ref=78 reliable

= Bytes are relayed
open_room
call  relay arena 0x00ff
gets  RELAY 5 0x00ff
call  relay arena hi unreliable priority=low
gets  RELAY 5 hi reliable=false priority=3
sends RELAYED 5 9 hello
sees  relay room=arena from=9 name=bob data=hello
sends RELAYED 5 0 0x00
sees  relay room=arena from=0 data=0x00
sends RELAYED 99 9 hello
sends RELAYED 0 0 raw
sees  relay from=0 data=raw

= Bytes are relayed to everybody
open
call  relay data=hi
gets  RELAY 0 hi
call  relay data=0x00 unreliable priority=high
gets  RELAY 0 0x00 reliable=false priority=1
sends RELAYED 0 9 hello
sees  relay from=9 data=hello

= Packets of the game
open
call  packet 3000 4 hi priority=low
gets  PACKET 3000 4 hi priority=3 request=false
sends PACKET 3000 5 yo
sees  packet channel=3000 number=5 data=yo request=false
sends PACKET 3001 6 "how?" request ref=9
sees  packet channel=3001 number=6 data="how?" request=true
call  answer_packet so
gets  PACKET 3001 6 so response ref=9
call  ask_packet 3000 7 "who?"
gets  PACKET 3000 7 "who?" request
sends PACKET data=me answer
sees  answer call=ask_packet data=me

= What fails without having been asked
open_room
call  relay arena hi
gets  RELAY
sends ERROR NotInRoom "not in it"
sees  error code=NotInRoom text="not in it"
sends ERROR 999 later
sees  error code=Unknown text=later

= More payload than the server takes is not sent
open max=20
call  send a "0123456789"
sees  failed call=send code=PayloadTooLarge
call  packet 3000 1 012345678901234567890
sees  failed call=packet code=PayloadTooLarge
call  packet 3000 1 01234567890123456789
gets  PACKET 3000 1 01234567890123456789

= The server's pings are answered
open
sends PING 4660
gets  PONG 4660
call  ping
sees  pong call=ping

= A redirect
open
sends REDIRECT other.example 7778
sees  redirect host=other.example port=7778
