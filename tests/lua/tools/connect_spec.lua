--- The parts of `perigee connect` that need no terminal: the line editor, safe text, events as lines, the
--- command line.

local editor = require "perigee.tools.connect.editor"
local options = require "perigee.tools.connect.options"
local show = require "perigee.tools.connect.show"
local text = require "perigee.tools.connect.text"


describe("the editor", function()
  local function type_in(...)
    local e, lines = editor.new(), {}
    for _, bytes in ipairs { ... } do
      for _, result in ipairs(e:feed(bytes)) do lines[#lines + 1] = result.line or result.type end
    end
    return lines, e
  end

  it("gives lines", function()
    assert.same({ "one", "", "two" }, (type_in "one\r\rtwo\n"))
    assert.same({ "caf\195\169" }, (type_in("caf\195", "\169\r")))
  end)

  it("edits", function()
    for keys, line in pairs {
      ["abc\127"] = "ab", ["abc\8\8"] = "a", ["\127x"] = "x",
      ["ac\27[Db"] = "abc", ["ac\2b"] = "abc", ["bc\1a"] = "abc", ["ab\1\5c"] = "abc",
      ["bc\27[Ha\27[Fd"] = "abcd", ["bc\27OHa\27OFd"] = "abcd", ["bc\27[1~a\27[4~d"] = "abcd",
      ["ab\27[D\27[3~"] = "a", ["ab\1\4"] = "b", ["ab\27[C\27[Cc"] = "abc",
      ["abc\2\21"] = "c", ["abc\2\11"] = "ab", ["ab cd \23e"] = "ab e", ["ab\3cd"] = "cd",
      ["\195\169\127x"] = "x", ["a\27[15~b\27xc\0d\9e"] = "abcde", ["a\255b"] = "ab",
      ["a\194\155b\226\128\174c"] = "abc",
    } do
      local _, e = type_in(keys)
      assert.equal(line, e:line())
      _, e = type_in(keys:match("^(.)"), keys:sub(2, 2), keys:sub(3))
      assert.equal(line, e:line())
    end
  end)

  it("takes keys that come in pieces", function()
    local _, e = type_in("ac", "\27", "[", "D", "b")
    assert.equal("abc", e:line())
  end)

  it("remembers lines", function()
    local up, down = "\27[A", "\27[B"
    assert.same({ "a", "b", "b" }, (type_in("a\rb\r", up, "\r")))
    assert.same({ "a", "b", "a" }, (type_in("a\rb\r", up, up, up, "\r")))
    assert.same({ "a", "b", "b" }, (type_in("a\rb\r", up, up, down, "\r")))
    assert.same({ "a", "b", "" }, (type_in("a\rb\r", up, down, down, "\r")))
  end)

  it("ends", function()
    assert.same({ "end" }, (type_in "\4"))
    assert.same({ "end" }, (type_in "ab\3\3"))
    assert.same({ "clear" }, (type_in "\12"))
  end)

  it("draws as much as fits, with the cursor in its place", function()
    local _, e = type_in "hello"
    assert.equal("\r> hello\27[K\r\27[7C", e:render("> ", 80))
    e:feed "\27[D\27[D"
    assert.equal("\r> hello\27[K\r\27[5C", e:render("> ", 80))
    _, e = type_in(("x"):rep(30))
    assert.equal("\r> " .. ("x"):rep(17) .. "\27[K\r\27[19C", e:render("> ", 20))
    e:feed "\1"
    assert.equal("\r> " .. ("x"):rep(17) .. "\27[K\r\27[2C", e:render("> ", 20))
    _, e = type_in "\228\189\160\229\165\189" -- two wide characters
    assert.equal("\r\195\169> \228\189\160\229\165\189\27[K\r\27[7C", e:render("\195\169> ", 80))
  end)
end)


describe("safe text", function()
  it("leaves text alone", function()
    for _, line in ipairs { "", "plain", "caf\195\169", "\240\159\152\128", "\228\189\160" } do
      assert.equal(line, text.safe(line))
    end
  end)

  it("writes out what a terminal would obey", function()
    for bytes, shown in pairs {
      ["\27[2J"] = "\\x1b[2J", ["a\nb\r"] = "a\\nb\\x0d", ["\127\0"] = "\\x7f\\x00",
      ["\194\155x"] = "\\u{9b}x", ["\226\128\174x"] = "\\u{202e}x", ["\226\129\166"] = "\\u{2066}",
    } do
      assert.equal(shown, text.safe(bytes))
    end
  end)

  it("writes out what is not UTF-8", function()
    for bytes, shown in pairs {
      ["\255"] = "\\xff", ["\128"] = "\\x80", ["\192\128"] = "\\xc0\\x80",
      ["\195"] = "\\xc3", ["\195("] = "\\xc3(", ["\237\160\128"] = "\\xed\\xa0\\x80",
      ["\224\128\128"] = "\\xe0\\x80\\x80", ["\244\144\128\128"] = "\\xf4\\x90\\x80\\x80",
    } do
      assert.equal(shown, text.safe(bytes))
    end
  end)

  it("has an end", function()
    assert.equal(("x"):rep(8192) .. "... (10000 bytes)", text.safe(("x"):rep(10000)))
  end)
end)


describe("events as lines", function()
  local plain = show.painter(false)
  local lobby = { id = 7, name = "lobby", members = { [3] = "bob", [4] = "ann" } }

  local function line(event, room_shown)
    if event.room then event.room_id = event.room.id end
    return show.event(event, plain, room_shown or false)
  end

  it("look as a text peer sees them", function()
    for wanted, event in pairs {
      ["* joined lobby: ann, bob"] = { type = "joined", room = lobby },
      ["* left lobby (Kicked)"] = { type = "left", room = lobby, code = "Kicked" },
      ["* cy joined lobby"] = { type = "peer_joined", room = lobby, name = "cy" },
      ["* cy is now \\u{202e}"] =
        { type = "peer_renamed", room = lobby, name = "\u{202e}", before = "cy" },
      ["* you are now zoe"] = { type = "peer_renamed", room_id = 0, name = "zoe", before = "cy" },
      ["* cy left lobby"] = { type = "peer_left", room = lobby, name = "cy" },
      ["* peer 9 left room 8"] = { type = "peer_left", room_id = 8, id = 9 },
      ["bob: hi"] = { type = "broadcast", room = lobby, sender = 3, name = "bob", data = "hi" },
      ["peer 9: hi"] = { type = "broadcast", room = lobby, sender = 9, data = "hi" },
      ["from the server"] = { type = "broadcast", room = lobby, sender = 0, data = "from the server" },
      ["! NotInRoom: no"] = { type = "error", code = "NotInRoom", message = "no" },
      ["* packet on channel 3000, type 4, 3 bytes: 61 00 ff"] =
        { type = "packet", channel = 3000, number = 4, payload = "a\0\255" },
      ["* packet on channel 1000 from peer 3, type 1, 0 bytes: "] =
        { type = "packet", channel = 1000, number = 1, payload = "", sender = 3 },
      ["* signed in as ada"] = { type = "signed_in", account = { name = "ada" } },
      ["* signed in as a guest"] = { type = "signed_in", account = {} },
      ["* the server says: go to h:1"] = { type = "redirect", host = "h", port = 1 },
    } do
      assert.equal(wanted, line(event))
    end
  end)

  it("show messages with the JSON they came with", function()
    for body, wanted in pairs { ["12"] = "hp 12", ["{\"a\":[]}"] = "hp {\"a\":[]}", ["null"] = "hp" } do
      assert.equal(wanted, line { type = "message", name = "hp", body = body })
    end
    assert.equal("a\"],b 1", line { type = "message", name = "a\"],b", body = "1" })
    assert.equal("? hp 1 (answer with /answer JSON)", line { type = "ask", name = "hp", body = "1" })
  end)

  it("say the room where there are several, and have colours where they are wanted", function()
    local event = { type = "broadcast", room = lobby, sender = 3, name = "bob", data = "hi" }
    assert.equal("[lobby] bob: hi", line(event, true))
    assert.equal("\27[1mbob:\27[0m hi", show.event(event, show.painter(true), false))
  end)
end)


describe("the command line", function()
  it("is read", function()
    local chosen = options.parse {
      "h:1", "--room", "a", "--room=b", "--name", "n", "--token=t=u", "--timeout", "1.5", "--stay",
    }
    assert.same({
      address = "h:1", rooms = { "a", "b" }, name = "n", token = "t=u", timeout = 1.5, stay = true,
    }, chosen)
    assert.is_true(options.parse({ "--help" }).help)
    assert.is_true(options.parse({ "-h" }).help)
    assert.is_true(#options.parse({ "h" }).name > 0)
  end)

  it("says what is wrong with it", function()
    for wanted, arguments in pairs {
      ["which server? an address is missing"] = {},
      ["\"b\" is one address too many"] = { "a", "b" },
      ["there is no option --rom"] = { "a", "--rom", "x" },
      ["--room needs a value"] = { "a", "--room" },
      ["--timeout needs a number from 0.001 to 1000000, not \"x\""] = { "a", "--timeout", "x" },
      ["port 0 is not between 1 and 65535"] = { "a:0" },
    } do
      assert.same({ nil, wanted }, { options.parse(arguments) })
    end
  end)
end)
