--- A plugin channel that this client serves; `Client:channel` returns it. It survives a change of session.
--- The clients of perigee.testing use it, too.

local check_methods = require "perigee.client.methods"
local checked = require "perigee.client.options"
local describe = require "perigee.util.describe"
local json = require "perigee.client.json"

local CLOSED = "the channel is closed"

---@class perigee.client.Channel
---@field id integer number of the channel; may change when a new session begins
---@field name string
---@field open boolean false once the channel is closed, and while a new session requests it again
---@field client perigee.Client
local Channel = {}
Channel.__index = Channel

local channel = {
  --- The channels of a client that serves none.
  NONE = { by_name = {}, by_id = {} },
}


local function set(self, id)
  local client = self.client
  if client._channels == channel.NONE then client._channels = { by_name = {}, by_id = {} } end
  local channels = client._channels
  self.id, self.open = id, true
  channels.by_name[self.name], channels.by_id[id] = self, self
end


local function unset(self)
  local channels = self.client._channels
  self.open = false
  if channels.by_name[self.name] == self then channels.by_name[self.name] = nil end
  if channels.by_id[self.id] == self then channels.by_id[self.id] = nil end
end


--- Serves a plugin channel; returns the existing object if the client serves it already.
---@param client table
---@param name string
---@return perigee.client.Channel?, string? message, string? code
function channel.open(client, name)
  local known = client._channels.by_name[name]
  if known then return known end
  local event, message, code, fault = client:_ask("open_channel", name, client.timeout)
  if not event then return nil, message, code, fault end
  local self = setmetatable({ name = name, client = client, _tools = {} }, Channel)
  set(self, event.channel)
  return self
end


--- Handles the end of the session that served the channels. libperigee requests the channels again in the
--- next session.
---@param client table
function channel.pause(client)
  for _, self in pairs(client._channels.by_name) do self.open = false end
  if client._channels ~= channel.NONE then client._channels.by_id = {} end
end


--- Handles the end of a channel that the program has not closed.
---@param client table
---@param event table
function channel.lose(client, event)
  local self = client._channels.by_name[event.name]
  if self then unset(self) end
end


local CALL = 1 -- type of the packet with which the server calls a tool for an LLM

-- Answers the call of a tool. Returns false if the packet does not call a tool of this channel.
local function call_tool(self, event)
  if event.sender ~= 0 or event.number ~= CALL or not event.request then return false end
  local call = json.decode(event.payload)
  local tool = type(call) == "table" and self._tools[call.tool]
  if not tool then return false end
  local client = self.client
  client._scheduler.enter(function()
    local result, problem = tool.fn(call.arguments, call)
    if result == nil and problem ~= nil then
      result = { isError = true, content = { { type = "text", text = tostring(problem) } } }
    end
    local bytes = type(result) == "string" and result or json.encode(result)
    if self.open then client:send_packet(event.channel, event.number, bytes, { answers = event }) end
  end)
  return true
end


--- Continues a channel that a new session serves again.
---@param client table
---@param event table
function channel.resume(client, event)
  set(client._channels.by_name[event.name], event.channel)
end


--- Handles a packet on a channel that the client serves. Returns false if the program must get the packet as
--- an event.
---@param client table
---@param event table
---@return boolean
function channel.take(client, event)
  local self = client._channels.by_id[event.channel]
  local fn = self and self._handler
  if not self then event.sender = nil end
  if self and call_tool(self, event) then return true end
  if not fn then return false end
  client._scheduler.enter(function()
    local answer = fn(event.sender, event.number, event.payload)
    if event.request and self.open then
      client:send_packet(event.channel, event.number, answer or "", { answers = event })
    end
  end)
  return true
end


--- Calls `fn(peer, number, bytes)` for each packet; `peer` is an id, or 0 for the server's script. If the
--- packet is a request, the result of `fn` answers it. `fn` may wait. Without a handler, the program gets
--- packets as events of type "packet".
---@param fn? fun(peer: integer, number: integer, bytes: string): string?
---@return perigee.client.Channel self
function Channel:on_packet(fn)
  self._handler = fn
  return self
end


--- Offers a tool to LLMs, or replaces it. `description` has the fields of `perigee.mcp.tool`, such as name,
--- description and input. `fn(arguments, call)` answers a call with text or a table, or with nil and the
--- reason of the failure. `fn` may wait. In a new session libperigee offers the tool again.
---@param description table
---@param fn fun(arguments: table, call: table): any, string?
---@return true? added, string? message, string? code
function Channel:tool(description, fn)
  if type(description) ~= "table" or type(fn) ~= "function" then
    error(describe.where() .. "channel:tool takes a table that describes the tool, and a function", 0)
  end
  if not self.open then return nil, CLOSED, "ChannelNotFound" end
  local fields = {}
  for key, value in pairs(description) do fields[key] = value end
  fields.channel = self.id
  local event, message, code = self.client:_ask("add_tool", json.encode(fields), self.client.timeout)
  if not event then return nil, message, code end
  self._tools[description.name] = { description = description, fn = fn }
  return true
end


--- Removes a tool.
---@param name string
---@return true? removed, string? message, string? code
function Channel:remove_tool(name)
  self._tools[name] = nil
  local event, message, code =
    self.client:_ask("remove_tool", json.encode { name = name }, self.client.timeout)
  if not event then return nil, message, code end
  return true
end


--- Sends a packet to one peer (0: the server's script).
---@param peer integer
---@param number integer type of the packet
---@param data? string
---@param options? table priority, reliable
---@return true? sent, string? message, string? code
function Channel:send(peer, number, data, options)
  if not self.open then return nil, CLOSED, "ChannelNotFound" end
  local flags = checked.flags("channel:send", options)
  data = checked.bytes("channel:send", data or "")
  return self.client:_call("send_to", self.id, peer, number, data, flags)
end


--- Sends one peer (0: the server's script) a request and waits for the bytes of the answer.
---@param peer integer
---@param number integer type of the packet
---@param data? string
---@param timeout? number seconds
---@return string? answer, string? message, string? code
function Channel:ask(peer, number, data, timeout)
  if not self.open then return nil, CLOSED, "ChannelNotFound" end
  data = checked.bytes("channel:ask", data or "")
  local event, message, code =
    self.client:_ask("ask_peer", self.id, peer, number, data, timeout or self.client.timeout)
  if not event then return nil, message, code end
  return event.payload
end


--- Stops serving the channel. Requests that wait for an answer on the channel fail.
---@return true? sent, string? message, string? code
function Channel:close()
  if self.client._channels.by_name[self.name] ~= self then return true end
  unset(self)
  return self.client:_call("close_channel", self.id)
end


check_methods(Channel, "channel")

return channel
