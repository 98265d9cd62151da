--- The schema of the game, for a client with the option `schema`. The client sends messages that the schema
--- declares in binary form, and all other messages as JSON.

local json = require "perigee.client.json"

local schema = {}

local parsed = {} -- parsed schemas by text, because the many clients of a test share them

local function read_file(path)
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read "*a"
  file:close()
  return text
end


--- Returns the schema in a text, or in a file if `given` is a path (`*.perigee`); or nil and an error.
---@param given string
---@return perigee.schema.Schema?, string? problem
function schema.load(given)
  local text, path = given, "schema"
  if given:find "%.perigee$" then
    local problem
    text, problem = read_file(given)
    if not text then return nil, problem end
    path = given
  end
  if not parsed[text] then
    local ok, result = pcall(require("perigee.schema").parse, text, path)
    if not ok then return nil, result end
    parsed[text] = result
  end
  return parsed[text]
end


--- Returns the number and the body of a message; the number is 0 if the body is JSON. Raises an error if the
--- value does not fit.
---@param of? perigee.schema.Schema
---@param name string
---@param value any
---@param is_answer? boolean
---@return integer number, string body
function schema.write(of, name, value, is_answer)
  local message = of and of.by_name[name]
  if not message or is_answer and not message.answer then return 0, json.encode_message(name, value) end
  local body = message[is_answer and "encode_answer" or "encode"](value)
  require("perigee.schema").check_names(message, value, is_answer)
  return message.number, body
end


--- Decodes the message of an event and sets `name` and `value` of the event. Returns an error, or nil. If the
--- schema of this client does not contain the message, returns nil, true: the server is newer than the
--- client.
---@param of? perigee.schema.Schema
---@param event table
---@return string? problem, boolean? is_unknown
function schema.read(of, event)
  if event.number == 0 then
    local problem
    event.value, problem = json.decode(event.body)
    return problem and "a message that is not [\"name\", value]"
  end
  local message = of and of.by_number[event.number]
  if not message then return nil, true end
  local is_answer = event.type == "answer"
  if is_answer and not message.answer then return "an answer that the schema does not have" end
  local ok, value = message[is_answer and "decode_answer" or "decode"](event.body)
  if not ok then return "a message that does not fit the schema: " .. value end
  event.name, event.value = message.name, value
  return nil
end


return schema
