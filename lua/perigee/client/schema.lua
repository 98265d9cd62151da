--- The schema of the game, for a client that was given one: then the messages that it names go in their
--- binary form, and all others as JSON.

local json = require "perigee.client.json"

local schema = {}

local parsed = {} -- by text: a test has many clients

local function read_file(path)
  local file, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read "*a"
  file:close()
  return text
end


--- The schema in a text, or in the file that is named like one (`*.perigee`). nil and what is wrong.
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


--- The protocol hash as HELLO carries it.
---@param of? perigee.schema.Schema
---@return string
function schema.hash(of)
  if not of then return ("\0"):rep(8) end
  return (of.hash:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end):reverse())
end


--- The number and the body of a message. Raises what is wrong with the value.
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


--- Whether a message of this number can be read.
---@param of? perigee.schema.Schema
---@param number integer
---@return boolean
function schema.knows(of, number)
  return number == 0 or of ~= nil and of.by_number[number] ~= nil
end


--- The name and the value in a body of a known number; nil and what is wrong with it.
---@param of? perigee.schema.Schema
---@param number integer
---@param body string
---@param is_answer? boolean
---@return string? name, any value
function schema.read(of, number, body, is_answer)
  if number == 0 then
    local name, value = json.decode_message(body)
    if not name then return nil, "a message that is not [\"name\", value]" end
    return name, value
  end
  local message = of.by_number[number]
  if is_answer and not message.answer then return nil, "an answer that the schema does not have" end
  local ok, value = message[is_answer and "decode_answer" or "decode"](body)
  if ok then return message.name, value end
  return nil, "a message that does not fit the schema: " .. value
end


return schema
