--- perigee.commands: the commands of a chat or a console. A line of text describes each command;
--- lua/perigee/meta/commands.lua explains the form of this line.

local describe = require "perigee.util.describe"
local lpeg = require "lpeg"
local sorted_keys = require "perigee.util.sorted_keys"

local C, Cc, Cg, Cp, Cs, Ct = lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Cp, lpeg.Cs, lpeg.Ct
local P, R, S = lpeg.P, lpeg.R, lpeg.S

local WHOLE_MAX = 2 ^ 53
local SHOWN_MAX = 40 -- bytes of a word in an error

local blank = S " \t" ^ 0
local letter = R("az", "AZ", "09") + "_"
local number = S "+-" ^ -1 * (R "09" ^ 1 * (P "." * R "09" ^ 0) ^ -1 + P "." * R "09" ^ 1)
  * (S "eE" * S "+-" ^ -1 * R "09" ^ 1) ^ -1 * -1

local nearest -- core.nearest; in tools and specs, the tools' replacement for it

local function raise(message, ...)
  error(describe.where() .. message:format(...), 0)
end

local function check(what, value, wanted)
  if type(value) ~= wanted then
    raise("%s must be a %s, not %s", what, wanted, describe.kind(value))
  end
end

local function hint(word, names)
  local meant = nearest(tostring(word), names)
  return meant and ("; did you mean %s?"):format(meant) or describe.names(names)
end

-- Descriptions ------------------------------------------------------------------------------------

local word = letter * (letter + "-") ^ 0
local choices = Ct(C(word) * (P "|" * C(word)) ^ 1)
local inner = Cg(C(word), "name") * (P ":" * (Cg(choices, "choices") + Cg(C(word), "kind"))) ^ -1
local argument_pattern = Ct(P "<" * inner * P ">" + P "[" * inner * P "]" * Cg(Cc(true), "is_optional"))
local arguments = Ct((argument_pattern * blank) ^ 0)
local remark = P "--" * blank * Cg(C(P(1) ^ 0), "help")
local words_of_name = Ct((C(word) * blank) ^ 1)
local description = Ct(blank * Cg(words_of_name, "words") * Cg(arguments, "arguments") * remark ^ -1)
  * Cp()

-- Converters from words to values. Each returns the value; or nil and the expected kind of word.
local KINDS = {}

function KINDS.word(text)
  return text
end

function KINDS.int(text)
  local value = text:find "^[+-]?%d+$" and tonumber(text)
  if value and value <= WHOLE_MAX and value >= -WHOLE_MAX then
    return value
  end
  return nil, "a whole number"
end

function KINDS.number(text)
  local value = number:match(text) and tonumber(text)
  if value and value - value == 0 then
    return value
  end
  return nil, "a number"
end

KINDS.text = KINDS.word

local function choose(argument, text)
  for _, choice in ipairs(argument.choices) do
    if choice == text then
      return choice
    end
  end
  return nil, table.concat(argument.choices, " or ")
end

local function check_argument(fail, command, argument, i)
  if not argument.choices then
    argument.kind = argument.kind or "word"
    if not KINDS[argument.kind] then
      fail("there is no type %s%s", argument.kind, hint(argument.kind, sorted_keys(KINDS)))
    end
  end
  local before = command.arguments[i - 1]
  if before and before.kind == "text" then
    fail("%s is the rest of the line, so %s cannot follow", before.name, argument.name)
  elseif before and before.is_optional and not argument.is_optional then
    fail("%s must be optional as well, because %s before it is", argument.name, before.name)
  end
  for k = 1, i - 1 do
    if command.arguments[k].name == argument.name then
      fail("two arguments are called %s", argument.name)
    end
  end
end

local function usage_of(command)
  local parts = { command.name }
  for _, argument in ipairs(command.arguments) do
    parts[#parts + 1] = (argument.is_optional and "[%s]" or "<%s>"):format(argument.choices
      and table.concat(argument.choices, "|") or argument.name)
  end
  return table.concat(parts, " ")
end

local function read_description(text)
  local function fail(problem, ...)
    raise("the command %q: " .. problem, text, ...)
  end
  local command, stop = description:match(text)
  if not command then
    fail "it begins with the command's name, a word of letters, digits, _ and -"
  elseif stop <= #text then
    fail("%q is not understood; an argument is <name>, <name:type> or [name:type], and a type is word, int, "
      .. "number, text or a choice such as on|off", text:sub(stop))
  end
  command.name = table.concat(command.words, " ")
  for i, each in ipairs(command.arguments) do
    check_argument(fail, command, each, i)
  end
  command.usage = usage_of(command)
  return command
end

-- Lines ----------------------------------------------------------------------------------------------

local escaped = P "\\" / "" * S '\\"'
local quoted = P '"' * Cg(Cs((escaped + 1 - P '"') ^ 0), "text") * P '"' * #(S " \t" + -1)
local bare = Cg(C((1 - S " \t") ^ 1), "text") * Cg(Cc(true), "is_bare")
local word_of_line = Ct(blank * Cg(Cp(), "at") * (quoted + bare))

-- Returns the pattern of a line. The pattern reads one word more than the longest command has.
local function line_pattern(list)
  local most = 0
  for _, command in ipairs(list) do
    most = math.max(most, #command.words + #command.arguments)
  end
  return Ct(word_of_line ^ -(most + 1))
end

-- Shortens a text between two characters of UTF-8.
local function shown(text)
  if #text <= SHOWN_MAX then
    return text
  end
  local size = SHOWN_MAX
  while size > 0 and text:find("^[\128-\191]", size + 1) do
    size = size - 1
  end
  return text:sub(1, size) .. "..."
end

local Commands = {}
Commands.__index, Commands.__metatable = Commands, "commands"

local function check_self(self, method)
  if getmetatable(self) ~= "commands" then
    raise("commands:%s is called with a colon", method)
  end
end

-- Returns the command whose words begin the line. If several commands match, returns the command with the
-- most words.
local function find(self, words)
  local found
  for _, command in ipairs(self._list) do
    local is_it = not found or #command.words > #found.words
    for i, part in ipairs(command.words) do
      is_it = is_it and words[i] ~= nil and words[i].text == part
    end
    found = is_it and command or found
  end
  return found
end

local function unknown(self, words)
  if #words == 0 then
    return nil, "there is no command" .. hint("", self._names), 1
  end
  return nil, ("there is no command %q%s"):format(shown(words[1].text),
    hint(words[1].text, self._names)), words[1].at
end

local function read_argument(argument, given, line)
  if not given then
    return nil, not argument.is_optional and argument.name .. " is missing"
  elseif argument.kind == "text" then
    return line:sub(given.at):match "^.*%S" or ""
  elseif given.is_bare and given.text:sub(1, 1) == '"' then
    return nil, argument.name .. ' has no closing "'
  end
  local value, wanted
  if argument.choices then
    value, wanted = choose(argument, given.text)
  else
    value, wanted = KINDS[argument.kind](given.text)
  end
  return value, wanted and ("%s must be %s, got %q"):format(argument.name, wanted, shown(given.text))
end


function Commands:parse(line)
  check_self(self, "parse")
  check("a line", line, "string")
  local words = self._line:match(line)
  local command = find(self, words)
  if not command then
    return unknown(self, words)
  end
  local values, first = {}, #command.words
  local problem, last
  for i, each in ipairs(command.arguments) do
    last = words[first + i]
    values[each.name], problem = read_argument(each, last, line)
    if problem then
      break
    end
  end
  local extra = words[first + #command.arguments + 1]
  if not problem and extra and not (last and command.arguments[#command.arguments].kind == "text") then
    problem, last = ("%q is too much"):format(shown(extra.text)), extra
  end
  if problem then
    return nil, ("%s; usage: %s"):format(problem, command.usage), last and last.at or #line + 1
  end
  return command.name, values
end


function Commands:run(peer, line, ...)
  check_self(self, "run")
  local name, values, at = self:parse(line)
  if not name then
    return nil, values, at
  end
  local handler = self.on[name]
  if not handler then
    raise("the command %s has no handler; write `function commands.on.%s(peer, arguments)`", name, name)
  end
  return true, handler(peer, values, ...)
end


function Commands:usage(name)
  check_self(self, "usage")
  if name == nil then
    local lines = {}
    for i, command in ipairs(self._list) do
      lines[i] = command.usage .. (command.help and " -- " .. command.help or "")
    end
    return table.concat(lines, "\n")
  end
  check("a command's name", name, "string")
  local command = self._by_name[name]
  return command and command.usage .. (command.help and " -- " .. command.help or "")
end

-- Returns the words that a command accepts at a place of the line: a word of its name, or an argument's
-- choices.
local function words_at(command, place)
  local own = command.words[place]
  local given = command.arguments[place - #command.words]
  return own and { own } or given and given.choices or {}
end


function Commands:complete(text)
  check_self(self, "complete")
  check("a text", text, "string")
  local head = text:match "^.*%s" or ""
  local part = text:sub(#head + 1)
  local before = self._line:match(head)
  local seen = {}
  for _, command in ipairs(self._list) do
    local fits = true
    for i = 1, math.min(#before, #command.words) do
      fits = fits and command.words[i] == before[i].text
    end
    for _, candidate in ipairs(fits and words_at(command, #before + 1) or {}) do
      if candidate:sub(1, #part) == part then
        seen[head .. candidate] = true
      end
    end
  end
  return sorted_keys(seen)
end


-- Only handlers of existing commands may be set in this table.
local function new_handlers(by_name, names)
  return setmetatable({}, {
    __newindex = function(handlers, name, fn)
      if not by_name[name] then
        raise("there is no command %s%s", tostring(name), hint(name, names))
      end
      check("the handler of the command " .. name, fn, "function")
      rawset(handlers, name, fn)
    end,
    __metatable = "handlers",
  })
end

local function make(descriptions)
  check("what perigee.commands takes", descriptions, "table")
  local self = { _list = {}, _by_name = {}, _names = {} }
  for i, text in ipairs(descriptions) do
    check("the description of a command", text, "string")
    local command = read_description(text)
    if self._by_name[command.name] then
      raise("there are two commands %s", command.name)
    end
    self._list[i], self._by_name[command.name], self._names[i] = command, command, command.name
  end
  if #self._list == 0 then
    raise('perigee.commands takes a list of descriptions, such as { "give <name> <count:int> [item]" }')
  end
  self._line = line_pattern(self._list)
  self.on = new_handlers(self._by_name, self._names)
  return setmetatable(self, Commands)
end


--- Makes the function that games call as `perigee.commands`.
---@param find_nearest fun(word: string, words: string[]): string? returns the nearest of words
---@return fun(descriptions: string[]): perigee.Commands
return function(find_nearest)
  nearest = find_nearest
  return make
end
