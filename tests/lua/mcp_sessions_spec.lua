--- Sessions of MCP clients and their streams: numbers of events, ends, and kept events.
local fake_core = require "tests.lua.fake_core"

describe("an MCP session", function()
  local core, sessions, answers

  before_each(function()
    core = fake_core.new()
    local tokens = 0
    answers = {}
    function core.token()
      tokens = tokens + 1
      return "token" .. tokens
    end
    for _, name in ipairs { "answer", "answer_open", "answer_more", "answer_last" } do
      core[name] = function(conn, ...) answers[#answers + 1] = { name, conn, ... } end
    end
    sessions = require "perigee.mcp.sessions"
  end)

  after_each(fake_core.clean)

  local function open()
    return sessions.open("2025-06-18", { name = "x" }, {})
  end

  local function last()
    return answers[#answers]
  end

  it("keeps little of what its client says of itself", function()
    core.product_version = function() return "1" end
    local session = require("perigee.mcp.rpc").initialize {
      protocolVersion = "2025-06-18", capabilities = { roots = {}, experimental = { {}, {}, {} } },
      clientInfo = { name = ("\u{e9}"):rep(60), version = ("1"):rep(200), title = "x" },
    }
    assert.same({ roots = true, sampling = false, elicitation = false }, session.capabilities)
    assert.same({ name = ("\u{e9}"):rep(50), version = ("1"):rep(100) }, session.client)
  end)

  it("has a channel of its own, the one that was free longest", function()
    local one, two = open(), open()
    assert.same({ 2000, 2001 }, { one.channel, two.channel })
    sessions.close(one)
    assert.equal(2002, open().channel)
    assert.is_nil(sessions.find(one.id))
    assert.equal(two, sessions.find(two.id))
  end)

  it("is one of 64", function()
    local first = open()
    for _ = 2, 64 do assert.is_table(open()) end
    assert.is_nil(open())
    sessions.close(first)
    assert.is_table(open())
  end)

  it("gives way to another when nobody has been there for a minute", function()
    local first, listening = open(), open()
    sessions.listen(listening, 7)
    for _ = 3, 64 do open() end
    core.clock = core.clock + 59
    assert.is_nil(open())
    sessions.find(first.id)
    core.clock = core.clock + 2
    assert.is_table(open()) -- takes the place of the third session
    assert.equal(first, sessions.find(first.id))
    assert.equal(listening, sessions.find(listening.id))
    assert.equal(64, #sessions.list())
  end)

  it("ends when it has been idle for half an hour, unless somebody listens", function()
    local idle, busy, listening = open(), open(), open()
    sessions.listen(listening, 7)
    core.clock = core.clock + 1000
    assert.equal(busy, sessions.find(busy.id))
    core.clock = core.clock + 801
    assert.is_nil(sessions.find(idle.id))
    assert.equal(busy, sessions.find(busy.id))
    assert.equal(listening, sessions.find(listening.id))
    sessions.gone(7)
    core.clock = core.clock + 1801
    assert.is_nil(sessions.find(listening.id))
  end)

  it("keeps what was sent for a client that comes back", function()
    local session = open()
    sessions.listen(session, 7)
    for i = 1, 3 do sessions.notify(session, { n = i }) end
    assert.same({ "answer_more", 7, 'id: 1-3\ndata: {"n":3}\n\n' }, last())
    sessions.gone(7)
    sessions.notify(session, { n = 4 })
    assert.is_true(sessions.resume(session, 8, "1-2"))
    assert.same({ "answer_open", 8, "Content-Type: text/event-stream\r\n",
      'retry: 1000\n\nid: 1-3\ndata: {"n":3}\n\nid: 1-4\ndata: {"n":4}\n\n' }, last())
    for _, id in ipairs { "2-0", "x", "1", "", "1-", "-1-1" } do
      assert.is_false(sessions.resume(session, 9, id), id)
    end
  end)

  it("keeps only so much", function()
    local session = open()
    sessions.listen(session, 7)
    for i = 1, 300 do sessions.notify(session, { n = i }) end
    assert.equal(256, #session.events)
    assert.equal('{"n":45}', session.events[1].text)
    for _ = 1, 3 do sessions.notify(session, { text = ("x"):rep(300000) }) end
    assert.equal(1, #session.events)
  end)

  it("tells who listens first what there was to tell before", function()
    local session = open()
    for i = 1, 20 do sessions.notify(session, { n = i }) end
    sessions.listen(session, 7)
    assert.same({ "answer_more", 7, 'id: 1-16\ndata: {"n":16}\n\n' }, last())
    assert.equal(17, #answers)
  end)

  it("forgets what a handler that fails has sent", function()
    local journal = require "perigee.host.journal"
    local session = open()
    sessions.listen(session, 7)
    core.commit()
    sessions.notify(session, { n = 1 })
    local stream = sessions.open_stream(session, 8, { is_answer = true })
    journal.run()
    assert.equal(0, #session.events)
    assert.is_nil(session.streams[stream.number])
    assert.is_true(sessions.resume(session, 9, "1-0"))
    assert.equal("retry: 1000\n\n", last()[4])
  end)
end)
