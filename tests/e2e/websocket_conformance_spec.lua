--- RFC 6455, case by case, with frames of the test's own: messages, pings, headers, fragments.
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local conformance = require "tests.e2e.conformance"

local case, suite = conformance.case, conformance.suite
local expect_echo, expect_failed = conformance.expect_echo, conformance.expect_failed
local TEXT, BINARY, CONTINUATION = frames.TEXT, frames.BINARY, frames.CONTINUATION
local CLOSE, PING, PONG = frames.CLOSE, frames.PING, frames.PONG


-- Sends a small first message, because the first message may not be as large as later ones.
local function begin(ws)
  ws:text "hello"
  expect_echo(ws, "hello")
end


suite("messages", function()
  for _, size in ipairs { 1, 2, 125, 126, 127, 128, 4095, 4096, 65535, 65536, 131000 } do
    local text = ("*"):rep(size)
    case(("text of %d bytes"):format(size), function(ws)
      begin(ws)
      ws:text(text)
      expect_echo(ws, text)
    end)
    for _, chop in ipairs(size < 200 and { 1 } or { 997, 4096 }) do
      case(("text of %d bytes, sent %d at a time"):format(size, chop), function(ws)
        local bytes = frames.encode(TEXT, text)
        begin(ws)
        for from = 1, #bytes, chop do
          ws:write(bytes:sub(from, from + chop - 1)):wrote()
        end
        expect_echo(ws, text)
      end)
    end
  end

  local function expect_packet(ws, payload)
    ws:expect(function(event)
      if event.name ~= "BINARY" then return false end
      local p = packet.decode(event.payload, 1)
      return p.name == "PACKET" and p.payload == payload
    end)
  end

  for _, size in ipairs { 0, 1, 113, 114, 115, 65523, 65524, 131072 } do
    case(("a packet of %d bytes"):format(size), function(ws)
      local payload = ("\254"):rep(size)
      ws:frame(BINARY, packet.encode { type = 1, payload = packet.hello { name = "ann" } })
      ws:expect "BINARY"
      ws:frame(BINARY, packet.encode { channel = 3000, type = 7, payload = payload })
      expect_packet(ws, payload)
    end)
  end

  case("a mask of zeros", function(ws)
    ws:frame(TEXT, "hello", { mask = "\0\0\0\0" })
    expect_echo(ws, "hello")
  end)

  case("an empty text is an empty line", function(ws)
    ws:text ""
    ws:fence():text "after"
    expect_echo(ws, "after")
  end)

  case("a line may have its end with it", function(ws)
    ws:text "one\n"
    ws:text "two\r\n"
    expect_echo(ws, "one")
    expect_echo(ws, "two")
  end)

  case("a thousand in one write", function(ws)
    local list = {}
    for i = 1, 1000 do
      list[i] = frames.encode(TEXT, "line " .. i)
    end
    ws:write(table.concat(list))
    for i = 1, 1000 do
      expect_echo(ws, "line " .. i)
    end
  end)
end)


suite("pings", function()
  for _, size in ipairs { 0, 1, 2, 64, 124, 125 } do
    case(("of %d bytes are answered with the same"):format(size), function(ws)
      local payload = ("\255"):rep(size)
      ws:frame(PING, payload)
      ws:expect_next("PONG", { payload = payload })
    end)
  end

  case("may come byte by byte", function(ws)
    for byte in frames.encode(PING, "slowly"):gmatch "." do
      ws:write(byte):wrote()
    end
    ws:expect_next("PONG", { payload = "slowly" })
  end)

  case("ten get ten answers, in order", function(ws)
    for i = 1, 10 do
      ws:frame(PING, "ping " .. i)
    end
    for i = 1, 10 do
      ws:expect_next("PONG", { payload = "ping " .. i })
    end
  end)

  for _, size in ipairs { 0, 125 } do
    case(("a pong of %d bytes that nobody asked for is nothing"):format(size), function(ws)
      ws:frame(PONG, ("x"):rep(size))
      ws:fence():expect_nothing()
    end)
  end

  for _, opcode in ipairs { PING, PONG, CLOSE } do
    for _, size in ipairs { 126, 127, 65535, 65536 } do
      case(("control frame %d of %d bytes is a fault"):format(opcode, size), function(ws)
        ws:frame(opcode, ("\3\232"):rep(size):sub(1, size))
        expect_failed(ws, 1002)
      end)
    end
    case(("control frame %d in fragments is a fault"):format(opcode), function(ws)
      ws:frame(opcode, "", { fin = false })
      ws:frame(CONTINUATION, "")
      expect_failed(ws, 1002)
    end)
  end
end)


suite("reserved bits and kinds", function()
  for rsv = 1, 7 do
    for _, opcode in ipairs { TEXT, BINARY, CLOSE, PING, PONG } do
      case(("bits %d of kind %d"):format(rsv, opcode), function(ws)
        ws:frame(opcode, opcode == CLOSE and frames.close(1000) or "hello", { rsv = rsv })
        expect_failed(ws, 1002)
      end)
    end
    case(("bits %d after a good message"):format(rsv), function(ws)
      ws:text "good"
      expect_echo(ws, "good")
      ws:frame(TEXT, "bad", { rsv = rsv })
      expect_failed(ws, 1002)
    end)
    case(("bits %d of a continuation"):format(rsv), function(ws)
      ws:frame(TEXT, "a", { fin = false })
      ws:frame(CONTINUATION, "b", { rsv = rsv })
      expect_failed(ws, 1002)
    end)
  end
  for _, opcode in ipairs { 3, 4, 5, 6, 7, 11, 12, 13, 14, 15 } do
    case(("kind %d, empty"):format(opcode), function(ws)
      ws:frame(opcode)
      expect_failed(ws, 1002)
    end)
    case(("kind %d, with a payload"):format(opcode), function(ws)
      ws:frame(opcode, "hello")
      expect_failed(ws, 1002)
    end)
    case(("kind %d after a message"):format(opcode), function(ws)
      ws:text "good"
      expect_echo(ws, "good")
      ws:frame(opcode, "x")
      expect_failed(ws, 1002)
    end)
    case(("kind %d between fragments"):format(opcode), function(ws)
      ws:frame(TEXT, "a", { fin = false })
      ws:frame(opcode, "x")
      ws:frame(CONTINUATION, "b")
      expect_failed(ws, 1002)
    end)
  end
end)


suite("headers", function()
  for _, opcode in ipairs { TEXT, BINARY, CLOSE, PING, PONG } do
    case(("kind %d without a mask"):format(opcode), function(ws)
      ws:frame(opcode, opcode == CLOSE and frames.close(1000) or "hello", { mask = false })
      expect_failed(ws, 1002)
    end)
    case(("kind %d, empty, without a mask"):format(opcode), function(ws)
      ws:frame(opcode, "", { mask = false })
      expect_failed(ws, 1002)
    end)
  end
  for _, size in ipairs { 0, 5, 125 } do
    for _, form in ipairs { 2, 8 } do
      case(("a length of %d in %d bytes"):format(size, form), function(ws)
        ws:frame(TEXT, ("x"):rep(size), { length_bytes = form })
        expect_failed(ws, 1002)
      end)
    end
  end
  for _, size in ipairs { 126, 65535 } do
    case(("a length of %d in 8 bytes"):format(size), function(ws)
      ws:frame(TEXT, ("x"):rep(size), { length_bytes = 8 })
      expect_failed(ws, 1002)
    end)
  end
  case("a length with its highest bit", function(ws)
    ws:frame(BINARY, ("x"):rep(10), { length = 70000, length_bytes = 8, high_bit = true })
    expect_failed(ws, 1002)
  end)
  for _, length in ipairs { 150000, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 1, 2 ^ 32, 2 ^ 53 } do
    for _, opcode in ipairs { TEXT, BINARY } do
      case(("kind %d that says it has %d bytes"):format(opcode, length), function(ws)
        ws:frame(opcode, "", { length = length }) -- the payload need not arrive
        expect_failed(ws, 1009)
      end)
    end
  end
end)


suite("fragments", function()
  for _, size in ipairs { 1, 2, 3, 64, 256, 1000 } do
    case(("of %d bytes"):format(size), function(ws)
      local text = ("0123456789"):rep(200)
      ws:write(table.concat(frames.fragments(TEXT, text, size)))
      expect_echo(ws, text)
    end)
    case(("of %d bytes, each sent alone"):format(size), function(ws)
      local text = ("0123456789"):rep(size < 64 and 5 or 200)
      for _, frame in ipairs(frames.fragments(TEXT, text, size)) do
        ws:write(frame):wrote()
      end
      expect_echo(ws, text)
    end)
    case(("of %d bytes with pings in between"):format(size), function(ws)
      local text = ("0123456789"):rep(20)
      local list = frames.fragments(TEXT, text, size)
      ws:write(table.concat(list, frames.encode(PING, "between")))
      for _ = 2, #list do
        ws:expect("PONG", { payload = "between" })
      end
      expect_echo(ws, text)
    end)
  end

  case("that are empty at the end", function(ws)
    ws:frame(TEXT, "hello", { fin = false })
    ws:frame(CONTINUATION, "", { fin = false })
    ws:frame(CONTINUATION, "")
    expect_echo(ws, "hello")
  end)

  case("that are empty at the start", function(ws)
    ws:frame(TEXT, "", { fin = false })
    ws:frame(CONTINUATION, "", { fin = false })
    ws:frame(CONTINUATION, "hello")
    expect_echo(ws, "hello")
  end)

  case("that are all empty", function(ws)
    ws:write(table.concat { frames.encode(TEXT, "", { fin = false }), frames.encode(CONTINUATION) })
    ws:fence():text "after"
    expect_echo(ws, "after")
  end)

  case("a thousand empty ones", function(ws)
    ws:frame(TEXT, "a", { fin = false })
    ws:write(frames.encode(CONTINUATION, "", { fin = false }):rep(1000))
    ws:frame(CONTINUATION, "b")
    expect_echo(ws, "ab")
  end)

  case("a hundred thousand of one byte", function(ws)
    begin(ws)
    ws:frame(TEXT, "x", { fin = false })
    ws:write(frames.encode(CONTINUATION, "x", { fin = false }):rep(99998))
    ws:frame(CONTINUATION, "x")
    expect_echo(ws, ("x"):rep(100000))
  end)

  for _, fin in ipairs { true, false } do
    case("a continuation of nothing, fin " .. tostring(fin), function(ws)
      ws:frame(CONTINUATION, "x", { fin = fin })
      expect_failed(ws, 1002)
    end)
    case("a continuation after a whole message, fin " .. tostring(fin), function(ws)
      ws:text "good"
      expect_echo(ws, "good")
      ws:frame(CONTINUATION, "x", { fin = fin })
      expect_failed(ws, 1002)
    end)
    for _, opcode in ipairs { TEXT, BINARY } do
      case(("kind %d within a message, fin %s"):format(opcode, tostring(fin)), function(ws)
        ws:frame(TEXT, "a", { fin = false })
        ws:frame(opcode, "b", { fin = fin })
        expect_failed(ws, 1002)
      end)
    end
  end

  case("over the limit together", function(ws)
    ws:frame(TEXT, "a", { fin = false })
    for _ = 1, 10 do
      ws:frame(CONTINUATION, ("x"):rep(16000), { fin = false })
    end
    expect_failed(ws, 1009)
  end)

  case("a close between them ends it", function(ws)
    ws:frame(TEXT, "a", { fin = false })
    ws:frame(CLOSE, frames.close(1000))
    ws:expect_closed(1000)
  end)
end)
