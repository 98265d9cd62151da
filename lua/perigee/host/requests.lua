--- Requests to peers: handlers that wait for an answer, and the answers.

local core = require "perigee.core"
local live_schema = require "perigee.host.live_schema"
local messages = require "perigee.host.messages"
local pending = require "perigee.host.pending"
local tasks = require "perigee.host.tasks"

local MESSAGE = core.channels.message
local CHANNEL_CLOSED = "the channel is closed"

local requests = {}

local late, late_count = {}, 0 -- number of late answers: by peer id, and in total


--- Waits for the answer to a request.
---@param peer integer
---@param ref integer
---@param timeout number seconds
---@param channel integer? channel of the request; nil: the request is a message
---@return any value
---@return string? message
---@return string? code
function requests.wait(peer, ref, timeout, channel)
  local entry = { requested = peer, request_ref = ref, channel = channel or MESSAGE }
  pending.listen(entry)
  return tasks.wait(entry, timeout)
end


--- Handles an answer of a peer.
---@param peer integer
---@param ref integer
---@param body string
---@param channel integer
---@param packet_type integer
function requests.answer(peer, ref, body, channel, packet_type)
  local entry = pending.request(peer, ref)
  if not entry or entry.channel ~= channel then
    late[peer] = (late[peer] or 0) + 1
    late_count = late_count + 1
    return
  end
  core.timer_cancel(entry.id)
  if channel ~= MESSAGE then
    return tasks.wake(entry, body)
  end
  local name, value = messages.decode(body, packet_type, true)
  if name then
    return tasks.wake(entry, value)
  end
  if live_schema.knows(packet_type) and not core.limits().drops_invalid then
    core.close(peer, core.codes.Protocol, value)
    core.commit()
  end
  return tasks.wake(entry, nil, "the answer is malformed", "Protocol")
end


--- Returns the number of late answers, of a peer or in total.
---@param peer integer?
---@return integer
function requests.late_answers(peer)
  return peer == nil and late_count or late[peer] or 0
end


--- Resumes the handler that waits for an answer which will not come.
---@param peer integer
---@param ref integer
---@param problem string
---@param code string
function requests.fail(peer, ref, problem, code)
  local entry = pending.request(peer, ref)
  if entry then
    tasks.give(entry, nil, problem, code)
    core.commit()
  end
end


-- Resumes the handlers that wait for an answer of the peer, with the reason why no answer will come. With
-- `channel`, resumes only handlers that sent their request on this channel. Returns whether it resumed any.
local function give_up(peer, channel, problem, code)
  local is_any = false
  for _, entry in ipairs(pending.requests_to(peer)) do
    if not channel or entry.channel == channel then
      tasks.give(entry, nil, problem, code)
      is_any = true
    end
  end
  return is_any
end


--- Handles the end of a peer.
---@param peer integer
function requests.drop_peer(peer)
  late[peer] = nil
  if give_up(peer, nil, "the peer is gone", "ConnectionClosed") then
    core.commit()
  end
end


--- Handles the end of a plugin channel.
---@param channel integer
---@param peer integer? peer that served it; nil: the script
function requests.drop_channel(channel, peer)
  for _, id in ipairs(peer and { peer } or pending.peers_requested()) do
    give_up(id, channel, CHANNEL_CLOSED, "ChannelNotFound")
  end
end

return requests
