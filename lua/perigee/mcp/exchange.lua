--- An exchange: the answers to one POST. They are collected and sent together as JSON. If a message must be
--- sent before all answers exist, the answer to the POST becomes a stream.

local core = require "perigee.core"
local json = require "perigee.mcp.json"
local sessions = require "perigee.mcp.sessions"
local journal = require "perigee.host.journal"

local exchange = {}

local JSON_FIELDS = "Content-Type: application/json\r\n"
local TOO_LARGE = -32603
local ANSWERS_MAX = 4 * 2 ^ 20 -- most bytes of a batch's answers; an error replaces each further answer


---@param conn integer
---@param o { session: table?, wanted: integer, is_batch: boolean, may_stream: boolean }
function exchange.new(conn, o)
  local self = {
    conn = conn, session = o.session, wanted = o.wanted, is_batch = o.is_batch,
    may_stream = o.may_stream, answers = {}, size = 0, fields = "",
  }
  sessions.set_exchange(conn, self)
  return self
end


-- Makes the answer a stream, if possible. An exchange that is over cannot become a stream, because its
-- connection may already serve another request.
local function open(self)
  if self.is_over then
    return nil
  elseif self.stream or not self.may_stream or not self.conn then
    return self.stream
  end
  journal.set(self, "stream", sessions.open_stream(self.session, self.conn, { is_answer = true }))
  for _, text in ipairs(self.answers) do
    sessions.send(self.stream, text)
  end
  return self.stream
end


--- Sends a message before the answers are complete. If this answer cannot become a stream, uses another
--- stream of the session.
---@param self table
---@param message table
---@return string? problem why it cannot be sent
function exchange.notify(self, message)
  local stream = open(self)
  if not stream then
    return self.session and sessions.notify(self.session, message)
  end
  local text, problem = json.encode(message)
  if text then
    sessions.send(stream, text)
  end
  return problem
end


--- Ends the connection of the stream. The client may connect again for the rest of the stream.
function exchange.hang_up(self)
  local stream = open(self)
  if stream then
    sessions.detach(stream)
  end
end


local function finish(self)
  journal.set(self, "is_over", true)
  if self.stream then
    sessions.end_stream(self.stream)
  elseif self.conn and not self.answers[1] then
    sessions.set_exchange(self.conn, nil)
    core.answer(self.conn, 202, "", "")
  elseif self.conn then
    sessions.set_exchange(self.conn, nil)
    local body = self.is_batch and "[" .. table.concat(self.answers, ",") .. "]" or self.answers[1]
    core.answer(self.conn, 200, JSON_FIELDS .. self.fields, body)
  end
end


local function unanswer(self, size)
  table.remove(self.answers)
  self.size = self.size - size
end

-- Returns the text of an answer, or the text of an error that replaces it.
local function text_of(self, message)
  local text, problem = json.encode(message)
  if text and (self.size == 0 or self.size + #text <= ANSWERS_MAX) then
    return text
  end
  return json.encode {
    jsonrpc = "2.0", id = message.id, error = {
      code = TOO_LARGE, message = "the result cannot be sent: "
        .. (problem or "the answers to this batch are too large together"),
    },
  }
end


--- Adds an answer. The last answer ends the exchange.
---@param self table
---@param message table
function exchange.reply(self, message)
  local text = text_of(self, message)
  self.answers[#self.answers + 1] = text
  self.size = self.size + #text
  journal.push(unanswer, self, #text)
  if self.stream then
    sessions.send(self.stream, text)
  end
  if #self.answers == self.wanted then
    finish(self)
  end
end


--- Reports that one answer will not come, because its request was cancelled.
---@param self table
function exchange.skip(self)
  self.wanted = self.wanted - 1
  if #self.answers == self.wanted then
    finish(self)
  end
end

return exchange
