--- Attacks on the interfaces for operators and LLMs: the admin listener with MCP, and the control socket.
local cjson = require "cjson"
local game = require "tests.e2e.attack.game"
local McpClient = require "tests.e2e.mcp_client"

local tools = {}

local METHODS = {
  "tools/list", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
  "resources/unsubscribe", "prompts/list", "prompts/get", "ping", "logging/setLevel", "completion/complete",
  "notifications/initialized", "notifications/cancelled", "initialize", "nothing", "",
}
local TOOLS = {
  { 6, "nap" }, { 4, "served" }, { 4, "asking" }, { 3, "echo" }, { 3, "rooms" }, { 3, "peers" },
  { 3, "stats" }, { 3, "logs" }, { 3, "errors" }, { 2, "oops" }, { 1, "reload" }, { 1, "check" }, { 1, "?" },
}
-- Arguments of the tools that need arguments.
local ARGUMENTS = {
  nap = function(a) return { seconds = a.dice:pick { 0, 0.05, 0.5, 5, -1 } } end,
  echo = function(a) return { text = ("x"):rep(a.dice:number(0, 100)) } end,
  check = function(a)
    return {
      path = a.dice:pick { "game.lua", "more.lua", "../game.lua", "" },
      text = a.dice:pick { "return {}", "return { on_conect = 1 }", "while true do end", "=", game.text(1) },
    }
  end,
}
local URIS = {
  "perigee://rooms", "perigee://room/hall", "perigee://room/%00", "perigee://log", "perigee://schema",
  "perigee://source/game.lua", "perigee://source/../x", "game://hero/ann", "game://hero/", "x", "",
}


-- Returns the parameters of a tool call, perhaps with ids of others.
local function call(a)
  local tool = a.dice:pick_weighted(TOOLS)
  local arguments = ARGUMENTS[a.dice:chance(5) and "nap" or tool]
  return { name = tool, arguments = arguments and arguments(a),
    _meta = a.dice:chance(30) and { progressToken = a.dice.roll(5) } or nil }
end


local function params(a, method)
  local dice = a.dice
  if method == "tools/call" then
    return call(a)
  elseif method:find "^resources/" then
    return { uri = dice:pick(URIS) }
  elseif method == "prompts/get" then
    return { name = dice:pick { "story", "?" }, arguments = { of = dice:name():gsub("[\128-\255]", "?") } }
  elseif method == "logging/setLevel" then
    return { level = dice:pick { "debug", "error", "loud" } }
  elseif method == "notifications/cancelled" then
    return { requestId = dice.roll(20) }
  end
  return {}
end


local function body(a, client)
  local method = a.dice:chance(60) and "tools/call" or a.dice:pick(METHODS)
  local message = client:request_body(method, params(a, method))
  if method:find "^notifications/" then message.id = nil end
  local text = cjson.encode(message)
  if a.dice:chance(5) then text = text:gsub("%b{}$", a.dice:json()) end
  if a.dice:chance(3) then text = "[" .. (text .. ","):rep(a.dice.roll(60)) .. text .. "]" end
  return a.dice:chance(15) and a.dice:spoil(text) or text
end


local function open(a)
  local client = a:keep(McpClient.connect(a.target.admin_port))
  if a.dice:chance(80) then
    client:post(client:request_body("initialize", {
      protocolVersion = a.dice:pick { McpClient.VERSION, "2025-03-26", "x" },
      capabilities = { roots = { x = 1 } },
      clientInfo = { name = a.dice:pick { "x", "\226\128\174" }, version = "1" },
    }))
    local response = a:await(client, "RESPONSE")
    client.session = response and response.headers["mcp-session-id"]
    if client.session then a:learn("sessions", client.session) end
  elseif #a.known.sessions > 0 then
    client.session = a.dice:pick(a.known.sessions)
  end
  client.inbox = {}
  return client
end


-- Makes a client accept any bytes, and drops those that it has received so far.
local function read_anything(client)
  client.cut = function(buffer, from)
    if from > #buffer then return nil, from end
    return { name = "BYTES" }, #buffer + 1
  end
  client.buffer = ""
end


--- Speaks MCP, partly wrongly, and leaves in the middle.
function tools.speaks_mcp(a)
  local client = open(a)
  read_anything(client)
  for _ = 1, a.dice:number(1, 20) do
    local way = a.dice.roll(12)
    if way <= 8 then
      client:post(body(a, client))
    elseif way == 9 then
      local fields = { a.dice:chance(30) and "Last-Event-ID: " .. a.dice:bytes(5):gsub("%c", "") or nil }
      client:send("GET", { fields = fields })
    elseif way == 10 then
      client:send(a.dice:pick { "DELETE", "PUT", "OPTIONS", "GET" },
        { target = a.dice:pick { "/mcp", "/", "/metrics", "/mcp/x" } })
    elseif way == 11 then -- a wrong length
      client:send("POST", { fields = { "Content-Length: " .. a.dice:edge() } })
      client:write(body(a, client))
    else
      client:post(body(a, client), { bare = true })
    end
    if a.dice:chance(50) then a:pause(60) end
    if client.ended then return end
  end
  a:finish(client)
  a:pause(100)
end


--- Opens sessions whose streams are not read, and cancels or drops their calls.
function tools.forgets_calls(a)
  local client = open(a)
  if not client.session then return end
  local others = {}
  for i = 1, a.dice:number(1, 5) do
    local other = a:keep(McpClient.connect(a.target.admin_port))
    other.session, others[i] = client.session, other
    read_anything(other)
    if i % 2 == 0 then
      other:send "GET"
      if a.dice:chance(50) then other:stall() end
    else
      other:post { jsonrpc = "2.0", id = i, method = "tools/call", params = call(a) }
    end
  end
  a:pause(150)
  read_anything(client)
  local last = a.dice.roll(4)
  if last == 1 then client:send "DELETE" end
  if last == 2 then
    client:post { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 1 } }
  end
  a:pause(100)
  for _, other in ipairs(others) do a:finish(other) end
end


--- Sends unknown or incomplete requests to the control socket. The test itself sends the known ones.
function tools.asks_for_control(a)
  local sink = a:control_socket()
  a:send(sink, a.dice:pick {
    "rel", "", "stop", "halt\n", "reload \n", "\0", "reload\0\n", ("x"):rep(300), a.dice:bytes(100) .. "\n",
  })
  a:pause(a.dice:pick { 0, 50, 500 })
  a:finish(sink)
end


return tools
