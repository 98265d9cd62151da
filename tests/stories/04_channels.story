# Plugin channels that a client serves.

# Connects a client, which serves channel 1000, "ai".
define serving
  open  $
  call  serve ai
  gets  CHANNEL_OPEN ai request
  sends CHANNEL_OPENED 1000 ai answer
  sees  channel_opened call=serve channel=1000 name=ai

= A channel is served: packets of peers come, and answers go to them
serving
sends PACKET 1000 3 "how?" peer=9 request ref=4
sees  packet channel=1000 from=9 number=3 data="how?" request=true
sends PACKET 1000 5 note peer=0
sees  packet channel=1000 from=0 number=5 data=note request=false
call  answer_packet so
gets  PACKET 1000 3 0x09000000736f response ref=4
call  send_to ai 9 6 0x78 priority=high
gets  PACKET 1000 6 0x0900000078 priority=1
call  send_to ai 0 6 0x78 unreliable
gets  PACKET 1000 6 0x0000000078 reliable=false

= A client offers a tool to LLMs, answers its calls and removes it
serving
call  tool ai {"channel":1000,"name":"run"}
gets  TOOL_ADD tool={"channel":1000,"name":"run"} request
sends TOOL_ADD answer
sees  tool_changed call=tool
sends PACKET 1000 1 "{\"tool\":\"run\",\"arguments\":{\"x\":1}}" peer=0 request ref=9
-c:   gets  PACKET 1000 1 0x000000007b2278223a317d response ref=9
c:    sees  packet channel=1000 from=0 number=1 request=true
sends PACKET 1000 1 "{\"tool\":\"other\"}" peer=0 request ref=9
sees  packet channel=1000 from=0 number=1 request=true
call  untool ai {"name":"run"}
gets  TOOL_REMOVE tool={"name":"run"} request
sends TOOL_REMOVE answer
sees  tool_changed call=untool

= A tool that is refused
serving
call  tool ai {"channel":1000,"name":"run"}
gets  TOOL_ADD
sends ERROR Rejected "the tool run is the game's" answer
sees  failed call=tool code=Rejected text="the tool run is the game's"
sends TOOL_ADD answer
quiet

= A channel that may not be served
open
call  serve ai
gets  CHANNEL_OPEN ai
sends ERROR Unauthorized "not you" answer
sees  failed call=serve code=Unauthorized text="not you"

= A channel is closed
serving
call  unserve ai
gets  CHANNEL_CLOSE 1000

= A channel that comes too late is closed
open
call  serve ai timeout=0.03
gets  CHANNEL_OPEN as=late
sees  failed call=serve code=Timeout
sends CHANNEL_OPENED 1000 ai answer=late
gets  CHANNEL_CLOSE 1000

= A channel goes on after a resume
serving token=3
resumed received=1
sends PACKET 1000 7 hi peer=9
sees  packet channel=1000 from=9 data=hi

= In a new session the channel is another one
serving token=3
lost
gets  CHANNEL_OPEN ai
sees  lost
sends CHANNEL_OPENED 1004 ai answer
sees  channel_opened call=null channel=1004 name=ai
quiet
call  send_to ai 9 6 hi
gets  PACKET 1004 6 0x090000006869

= A channel that is closed before a new session has it again
serving token=3
lost
gets  CHANNEL_OPEN ai
sees  lost
call  unserve ai
sends CHANNEL_OPENED 1004 ai answer
gets  CHANNEL_CLOSE 1004

= A channel that two sessions in a row lose
serving token=3
lost
gets  CHANNEL_OPEN ai
sees  lost
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO resume=9
sends WELCOME id=10 token=11
sees  lost
gets  CHANNEL_OPEN ai
sends ERROR Unauthorized "not you" answer
sees  channel_closed name=ai code=Unauthorized

= A channel that somebody else serves by then
serving token=3
lost
gets  CHANNEL_OPEN ai
sees  lost
sends ERROR ChannelTaken answer
sees  channel_closed name=ai code=ChannelTaken

= A new session offers the tools of a channel again
serving token=3
call  tool ai {"channel":1000,"name":"run"}
gets  TOOL_ADD
sends TOOL_ADD answer
sees  tool_changed call=tool
lost
gets  CHANNEL_OPEN ai
sees  lost
sends CHANNEL_OPENED 1004 ai answer
sees  channel_opened call=null channel=1004 name=ai
gets TOOL_ADD tool={"channel":1004,"name":"run"} request

= A new session offers no tool that the client has removed
serving token=3
call  tool ai {"channel":1000,"name":"run"}
gets  TOOL_ADD
sends TOOL_ADD answer
sees  tool_changed call=tool
call  untool ai {"name":"run"}
gets  TOOL_REMOVE
sends TOOL_REMOVE answer
sees  tool_changed call=untool
lost
gets  CHANNEL_OPEN ai
sees  lost
sends CHANNEL_OPENED 1004 ai answer
sees  channel_opened call=null channel=1004 name=ai
quiet

= A new session refuses a tool that the client has offered
serving token=3
call  tool ai {"channel":1000,"name":"run"}
gets  TOOL_ADD
sends TOOL_ADD answer
sees  tool_changed call=tool
lost
gets  CHANNEL_OPEN ai
sees  lost
sends CHANNEL_OPENED 1004 ai answer
sees  channel_opened call=null channel=1004 name=ai
gets TOOL_ADD tool={"channel":1004,"name":"run"} request
sends ERROR Rejected "the tool run is the game's" answer
sees  error code=Rejected text="the tool run is the game's"
