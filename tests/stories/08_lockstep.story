# Matches: beginnings, inputs and turns, missing turns, states and hashes, and ends. Turns have an interval of
# 50 s unless a story names another one, so that no INPUT is sent again by itself.

# Connects a client in room 5, which requests to take part.
define entering
  open_room token=3
  call  enter arena
  gets  ENTER 5 version=1 flags_=2 seat=0 match=0 turn=0 request reliable

# The client enters match 77 in slot 0, and sends inputs for two turns ahead.
define playing
  entering
  sends START $
  sees  match how=fresh turn=0 seed=99 slot=0
  gets  INPUT start=1 turn=0 hash_turn=0 hashes=[] first=1 inputs=["",""] reliable=false priority=0

= A match begins from its seed
playing

= Turns are simulated in their order, and answered by inputs and hashes
playing
call  input arena build
call  input arena march
sends TURNS first=1 turns=[[[1,"input","x"],[0,"joined","0x09000000626f62"]]]
sees  turn turn=1 entries=[[1,"input","x"],[0,"joined","0x09000000626f62"]]
gets  INPUT turn=1 hash_turn=1 hashes=[1000] first=2 inputs=["","build"]
sends TURNS first=2 turns=[[],[[1,"left"]]]
sees  turn turn=2 entries=[]
sees  turn turn=3 entries=[[1,"left",""]]
gets  INPUT eventually turn=3 hash_turn=3 hashes=[3000,2000,1000]

= A turn that came before is passed over
playing
sends TURNS first=1 turns=[[],[]]
sees  turn turn=1
sees  turn turn=2
gets  INPUT eventually turn=2
sends TURNS first=1 turns=[[],[],[]]
sees  turn turn=3
gets  INPUT turn=3
sends TURNS match=78 first=4 turns=[[]]
quiet

= A turn that is missing is asked for
entering
sends START interval=2000000
sees  match
gets  INPUT first=1
sends TURNS first=2 turns=[[[1,"input","two"]]]
gets  NEED 5 1 reliable
sends TURNS first=1 turns=[[[1,"input","one"]]] reliable
sees  turn turn=1 entries=[[1,"input","one"]]
sees  turn turn=2 entries=[[1,"input","two"]]
gets  INPUT eventually turn=2

= An input that comes too late goes into another turn
playing
call  input arena build
call  input arena march
sends TURNS first=1 turns=[[[1,"input","x"]]]
sees  turn turn=1
gets  INPUT first=2 inputs=["","build"]
sends TURNS first=2 turns=[[[1,"input","x"]]]
sees  turn turn=2
gets  INPUT first=3 inputs=["build","march"]
sends TURNS first=3 turns=[[[0,"missing"]]]
sees  turn turn=3 entries=[[0,"missing",""]]
gets  INPUT first=4 inputs=["march","build"]
sends TURNS first=4 turns=[[[0,"input","march"]]]
sees  turn turn=4
gets  INPUT first=5 inputs=["build",""]

= Late inputs keep their order, where several turns come at once
playing
call  input arena a
call  input arena b
sends TURNS first=1 turns=[[[1,"input","x"]]]
sees  turn turn=1
gets  INPUT first=2 inputs=["","a"]
sends TURNS first=2 turns=[[[1,"input","x"]]]
sees  turn turn=2
gets  INPUT first=3 inputs=["a","b"]
call  input arena c
sends TURNS first=3 turns=[[],[]]
sees  turn turn=3
sees  turn turn=4
gets  INPUT eventually first=5 inputs=["a","b"]
sends TURNS first=5 turns=[[[0,"input","a"]]]
sees  turn turn=5
gets  INPUT first=6 inputs=["b","c"]

= A late input is dropped if the previous input has replaced it
playing
call  input arena left
sends TURNS first=1 turns=[[[1,"input","x"]]]
sees  turn turn=1
gets  INPUT first=2 inputs=["","left"]
sends TURNS first=2 turns=[[[1,"input","x"]]]
sees  turn turn=2
gets  INPUT first=3 inputs=["left",""]
sends TURNS first=3 turns=[[[0,"repeated","right"]]]
sees  turn turn=3 entries=[[0,"repeated","right"]]
gets  INPUT first=4 inputs=["",""]

= Hashes are sent at the match's interval
playing hash_every=2
sends TURNS first=1 turns=[[]]
sees  turn turn=1
gets  INPUT turn=1 hash_turn=0 hashes=[]
sends TURNS first=2 turns=[[],[],[]]
sees  turn turn=2
sees  turn turn=3
sees  turn turn=4
gets  INPUT eventually turn=4 hash_turn=4 hashes=[4000,2000]

= Another pace brings inputs at once
playing
sends PACE speed=150 delay=4
sees  pace speed=1.5 delay=4
gets  INPUT inputs=["","","",""]

= Inputs are sent again where no turn comes
entering
sends START interval=20000
sees  match
gets  INPUT first=1 inputs=["",""]
gets  INPUT first=1 inputs=["","",""]
gets  INPUT first=1 inputs=["","",""]
server ignores-inputs

= A state is given to others
playing
sends TURNS first=1 turns=[[]]
sees  turn turn=1
gets  INPUT
sends SNAPSHOT_ASK asked=9
gets  SNAPSHOT 5 asked=9 turn=1 size=7 offset=0 data="state 1" reliable

= A state comes in pieces, and turns after it
entering
sends START how=1
sends GIVEN turn=40 size=7 offset=0 data=sta
sends GIVEN turn=40 size=7 offset=3 data="te 4"
sees  match how=snapshot turn=40 data="state 4"
gets  INPUT turn=40 hash_turn=40 hashes=[40000] first=41
sends TURNS first=41 turns=[[]]
sees  turn turn=41
gets  INPUT turn=41 hash_turn=41

= Pieces in another order are passed over
entering
sends START how=1
sends GIVEN turn=40 size=7 offset=3 data="te 4"
quiet
sends GIVEN turn=40 size=7 offset=0 data="state 4"
sees  match how=snapshot turn=40
gets  INPUT

= A client sends the tree of its state
open_room token=3
call  enter arena trees=true
gets  ENTER 5
sends START
sees  match
gets  INPUT
sends TURNS first=1 turns=[[]]
sees  turn turn=1
gets  INPUT
sends TREE_ASK turn=1
gets  TREE 5 1 json={"part":1000} reliable

= Another state, and inputs that are waited for
playing
sends DESYNC turn=3 odd=1 slots=[0,255]
sees  desync turn=3 odd=true slots=[0,255]
sends WAITING turn=4 slots=[1]
sees  waiting turn=4 slots=[1]

= A match goes on after a resume
playing
resumed received=2
sends JOINED members={"9":"bob","10":"cleo"}
sends ACK 2
gets  INPUT first=1 inputs=["","",""]
sends TURNS first=1 turns=[[]] reliable
sees  turn turn=1
gets  INPUT turn=1

= After a lost session the client asks for its slot again
playing
sends TURNS first=1 turns=[[]]
sees  turn turn=1
gets  INPUT turn=1
lost
gets  JOIN arena
sees  lost
sends JOINED self=8 members={"9":"bob","10":"cleo"} answer
sees  joined
gets  ENTER 5 seat=4 match=77 turn=1
sends START start=2 how=2 turn=1
sees  match how="goes on" turn=1 slot=0
gets  INPUT start=2 turn=1

= A seat of before is asked for
open_room token=3
call  enter arena 0x05050505050505050505050505050505
gets  ENTER 5 seat=5
sends START slot=3 seat=6
sees  match slot=3
gets  INPUT

= To watch is to take no slot
open_room token=3
call  enter arena watches=true
gets  ENTER 5 flags_=3
sends START slot=255 seat=0
sees  match slot=null
gets  INPUT first=1 inputs=[]

= Another match begins in the place of this one
playing
sends TURNS first=1 turns=[[]]
sees  turn turn=1
gets  INPUT
sends START start=2 match=78 seed=5
sees  match how=fresh turn=0 seed=5
gets  INPUT start=2 turn=0 hash_turn=0 hashes=[] first=1

= A refused client gets the reason
entering
sends ERROR Unsupported "nobody can give it" answer
sees  match_ended code=Unsupported text="nobody can give it"
gets  EXIT 5

= An error of something else does not end it
entering
sends ERROR Unsupported "no handler"
sees  error text="no handler"
sends START
sees  match
gets  INPUT

= A client that sends ENTER too soon sends it again
entering
sends ERROR RateLimited answer
gets  ENTER 5
sends START
sees  match
gets  INPUT

= What is not answered is given up
call  connect timeout=0.4
gets  HELLO
sends WELCOME
sees  connected
sends JOINED
sees  joined
call  enter arena
gets  ENTER
sees  match_ended
gets  EXIT 5

= A client that is refused in a new session gets the reason
playing
lost
gets  JOIN arena
sees  lost
sends JOINED self=8 members={"9":"bob","10":"cleo"} answer
sees  joined
gets  ENTER 5
sends ERROR Unsupported no answer
sees  match_ended code=Unsupported
gets  EXIT 5

= A match that the server ends is over
playing
sends END
sees  match_ended code=ConnectionClosed
sends TURNS first=1 turns=[[]]
quiet

= A client that leaves the match no longer takes part
playing
call  exit arena
gets  EXIT 5
sends TURNS first=1 turns=[[]]
quiet

# Ends the connection, and the match with it.
define breaks_match
  playing
  sends $
  sees closed code=Protocol
  also match_ended

= A START that cannot be
breaks_match START cut=20
breaks_match START start=2 how=3
breaks_match START start=2 hash_every=0
breaks_match START start=2 turn=4294967295

= Turns that cannot be read
breaks_match TURNS cut=12
breaks_match TURNS turns=[[],[]] cut=14
breaks_match TURNS turns=[[]] extra=0x00
breaks_match TURNS turns=[[[0,"input","long"]]] cut=20
breaks_match TURNS turns=[[[0,"joined","x"]]]
breaks_match PACKET 3 130 0x050000004d00000001000000010100090000

= Other packets of a match that cannot be read
breaks_match PACKET 3 129 0x05
breaks_match PACE cut=8
breaks_match PACE extra=0x00
breaks_match SNAPSHOT_ASK cut=6
breaks_match TREE_ASK cut=6
breaks_match DESYNC slots=[1,2,3] cut=11
breaks_match WAITING slots=[1,2,3] cut=10
breaks_match GIVEN cut=12
breaks_match GIVEN size=67108865 data=x
