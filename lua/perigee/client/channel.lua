--- A plugin channel that this client serves; `Client:channel` returns it. It survives a change of session.
--- The clients of perigee.testing use it, too.

local check_methods = require "perigee.client.methods"
local checked = require "perigee.client.options"

local CLOSED = "the channel is closed"

---@class perigee.client.Channel
---@field id integer may change after a session was lost
---@field name string
---@field open boolean false when it is closed, and while a new session requests it again
---@field client perigee.Client
local Channel = {}
Channel.__index = Channel

local channel = {}


--- The channels that a client serves.
function channel.table()
  return { by_name = {}, by_id = {} }
end


local function set(self, id)
  local channels = self.client._channels
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
  local self = setmetatable({ name = name, client = client }, Channel)
  set(self, event.channel)
  return self
end


--- Handles the end of the session that served the channels. libperigee requests the channels again in the
--- next session.
---@param client table
function channel.pause(client)
  for _, self in pairs(client._channels.by_name) do self.open = false end
  client._channels.by_id = {}
end


--- Handles the end of a channel that the program has not closed.
---@param client table
---@param event table
function channel.lose(client, event)
  local self = client._channels.by_name[event.name]
  if self then unset(self) end
end


--- Handles the event that a new session serves a channel again.
---@param client table
---@param event table
function channel.resume(client, event)
  set(client._channels.by_name[event.name], event.channel)
end


--- Handles a packet on a channel that the client serves. Returns false if the program must get it as an
--- event.
---@param client table
---@param event table
---@return boolean
function channel.take(client, event)
  local self = client._channels.by_id[event.channel]
  local fn = self and self._handler
  if not self then event.sender = nil end
  if not fn then return false end
  client._scheduler.enter(function()
    local answer = fn(event.sender, event.number, event.payload)
    if event.request and self.open then
      client:send_packet(event.channel, event.number, answer or "", { answers = event })
    end
  end)
  return true
end


--- Calls `fn(peer, number, bytes)` for each packet; `peer` is an id, or 0 for the server's script. The result
--- of `fn` answers a request. `fn` may wait. Without a handler, packets are events of type "packet".
---@param fn? fun(peer: integer, number: integer, bytes: string): string?
---@return perigee.client.Channel self
function Channel:on_packet(fn)
  self._handler = fn
  return self
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
