--- RFC 6455, case by case: valid and invalid UTF-8, the ends, and Perigee's additions.
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local web_socket = require "tests.e2e.web_socket"
local conformance = require "tests.e2e.conformance"

local case, suite = conformance.case, conformance.suite
local expect_echo, expect_failed = conformance.expect_echo, conformance.expect_failed
local TEXT, BINARY, CONTINUATION = frames.TEXT, frames.BINARY, frames.CONTINUATION
local CLOSE, PING = frames.CLOSE, frames.PING


suite("text", function()
  for i, sample in ipairs(web_socket.UTF8) do
    local kind = sample.is_good and "is taken" or "is a fault"
    local function check(ws)
      if sample.is_good then expect_echo(ws, sample.text) else expect_failed(ws, 1007) end
    end
    case(("sample %d %s"):format(i, kind), function(ws)
      ws:text(sample.text)
      check(ws)
    end)
    case(("sample %d in fragments of a byte %s"):format(i, kind), function(ws)
      ws:write(table.concat(frames.fragments(TEXT, sample.text, 1)))
      check(ws)
    end)
  end

  case("fails at its first bad byte, in a fragment", function(ws)
    ws:frame(TEXT, "good", { fin = false })
    ws:frame(CONTINUATION, "\244\144", { fin = false })
    expect_failed(ws, 1007)
  end)

  case("fails at its first bad byte, in a frame that goes on", function(ws)
    ws:write(frames.encode(TEXT, "good \255 and so on", { cut = 12 }))
    expect_failed(ws, 1007)
  end)

  case("a character may be in two fragments", function(ws)
    ws:frame(TEXT, "\240\159", { fin = false })
    ws:frame(PING, "x")
    ws:frame(CONTINUATION, "\152\128")
    expect_echo(ws, "\240\159\152\128")
  end)
end)


suite("the end", function()
  for _, code in ipairs {
    1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999,
  } do
    case(("code %d is answered with the same"):format(code), function(ws)
      ws:frame(CLOSE, frames.close(code, "bye"))
      ws:expect_closed(code)
    end)
  end
  for _, code in ipairs {
    0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2999, 5000, 65535,
  } do
    case(("code %d is a fault"):format(code), function(ws)
      ws:frame(CLOSE, frames.close(code, "bye"))
      expect_failed(ws, 1002)
    end)
  end

  case("without a code", function(ws)
    ws:frame(CLOSE)
    ws:expect_closed(nil)
  end)

  case("with half a code", function(ws)
    ws:frame(CLOSE, "\3")
    expect_failed(ws, 1002)
  end)

  for _, size in ipairs { 0, 1, 122, 123 } do
    case(("a reason of %d bytes"):format(size), function(ws)
      ws:frame(CLOSE, frames.close(1000, ("x"):rep(size)))
      ws:expect_closed(1000)
    end)
  end

  for i, text in ipairs { "\255", "\195", "\237\160\128", "ok\192\128" } do
    case(("reason %d that is not UTF-8"):format(i), function(ws)
      ws:frame(CLOSE, frames.close(1000, text))
      expect_failed(ws, 1007)
    end)
  end

  case("what comes after it is not read", function(ws)
    ws:text "before"
    ws:frame(CLOSE, frames.close(1000))
    ws:frame(PING, "after")
    ws:text "after"
    ws:frame(CLOSE, frames.close(1001))
    expect_echo(ws, "before")
    ws:expect "TEXT" -- the greeting
    ws:expect_closed(1000)
  end)

  case("comes after what was sent before", function(ws)
    for i = 1, 100 do
      ws:text("line " .. i)
    end
    ws:frame(CLOSE, frames.close(1000))
    for i = 1, 100 do
      expect_echo(ws, "line " .. i)
    end
    ws:expect "TEXT"
    ws:expect_closed(1000)
  end)

  case("may come byte by byte", function(ws)
    for byte in frames.encode(CLOSE, frames.close(1000, "slow")):gmatch "." do
      ws:write(byte):wrote()
    end
    ws:expect_closed(1000)
  end)

  case("of a peer is a close with 1000 after /quit", function(ws)
    ws:text "/quit"
    ws:expect "TEXT"
    ws:expect_closed(1000)
  end)
end)


suite("what Perigee adds", function()
  local hello = packet.encode { type = 1, payload = packet.hello { name = "ann" } }

  case("a packet may not span two messages", function(ws)
    ws:frame(BINARY, hello:sub(1, 20))
    ws:frame(BINARY, hello:sub(21))
    expect_failed(ws, 1002)
  end)

  case("a header may not span two messages", function(ws)
    ws:frame(BINARY, hello)
    ws:expect "BINARY"
    ws:frame(BINARY, packet.encode({ type = 5, payload = packet.u64(1) }) .. "\0\0\0")
    expect_failed(ws, 1002)
  end)

  case("a packet may span two fragments", function(ws)
    ws:frame(BINARY, hello:sub(1, 20), { fin = false })
    ws:frame(CONTINUATION, hello:sub(21))
    local welcome = packet.decode(ws:expect("BINARY").payload, 1)
    assert.equal("WELCOME", welcome.name)
  end)

  case("a message may have several packets", function(ws)
    ws:frame(BINARY, hello .. packet.encode({ type = 5, payload = packet.u64(1) }):rep(50))
    local pongs = 0
    ws:expect(function(event)
      if event.name ~= "BINARY" then return false end
      local from = 1
      while from <= #event.payload do
        local p
        p, from = packet.decode(event.payload, from)
        assert(p, "a packet that is not whole in its message")
        if p.name == "PONG" then pongs = pongs + 1 end
      end
      return pongs == 50
    end)
  end)

  case("an empty message has no packet, before the first one and after", function(ws)
    ws:frame(BINARY)
    ws:frame(BINARY, hello)
    ws:expect "BINARY"
    ws:frame(BINARY)
    for _, fragment in ipairs(frames.fragments(BINARY, "", 1)) do ws:write(fragment) end
    ws:fence()
    ws:frame(BINARY, packet.encode { type = packet.CLIENT.PING, payload = ("x"):rep(8) })
    ws:expect "BINARY"
  end)

  case("the first packet is HELLO", function(ws)
    ws:frame(BINARY, packet.encode { type = 2, payload = packet.str8 "lobby" })
    expect_failed(ws, 1002)
  end)

  case("a packet keeps to max_payload, before HELLO to less", function(ws)
    ws:frame(BINARY, packet.encode { type = 1, payload = ("x"):rep(5000) })
    expect_failed(ws, 1009)
  end)

  case("a packet keeps to max_payload", function(ws)
    ws:frame(BINARY, hello)
    ws:expect "BINARY"
    ws:frame(BINARY, packet.encode { channel = 3000, type = 1, payload = ("x"):rep(131073) })
    expect_failed(ws, 1009)
  end)

  case("a line keeps to max_payload", function(ws)
    ws:text "first"
    expect_echo(ws, "first")
    ws:text(("x"):rep(131073))
    expect_failed(ws, 1009)
  end)

  case("the first message is at most 16 KiB", function(ws)
    ws:frame(BINARY, ("x"):rep(16385))
    expect_failed(ws, 1009)
  end)

  case("text does not follow packets", function(ws)
    ws:frame(BINARY, hello)
    ws:expect "BINARY"
    ws:text "/quit"
    expect_failed(ws, 1003)
  end)

  case("packets do not follow text", function(ws)
    ws:text "first"
    expect_echo(ws, "first")
    ws:frame(BINARY, hello)
    expect_failed(ws, 1003)
  end)

  case("a bad packet is a fault", function(ws)
    ws:frame(BINARY, packet.header({ type = 1, priority = 9 }, 0))
    expect_failed(ws, 1002)
  end)

  case("BYE ends it with 1000", function(ws)
    ws:frame(BINARY, hello .. packet.encode { type = 11 })
    ws:expect "BINARY"
    ws:expect_closed(1000)
  end)

  case("the code of a refusal is 4000 and Perigee's own", function(ws)
    local other = packet.hello { name = "ann", version = 9 }
    ws:frame(BINARY, packet.encode { type = 1, payload = other })
    ws:expect "BINARY"
    local close = ws:expect_closed(4009)
    assert.equal("this server speaks version 1", close.reason)
  end)
end)
