--- Writes random Lua programs for specs. They compile and end, and calls of `note` show what they do. The
--- same seed gives the same program.

local random_program = {}

local DEPTH_MAX = 3
local STATEMENTS = 4 -- most statements in a block

local Writer = {}
Writer.__index = Writer

-- Returns a random number from 1 to `count`. Does not use math.random, whose numbers depend on the version.
function Writer:pick(count)
  self.state = (self.state * 16807) % 2147483647
  return self.state % count + 1
end

function Writer:one_of(list)
  return list[self:pick(#list)]
end

function Writer:put(...)
  for _, piece in ipairs { ... } do
    self.out[#self.out + 1] = piece
  end
  self.out[#self.out + 1] = self:one_of { " ", " ", "\n", " -- do end\n", "\r\n", " --[[ ( ]] " }
end

function Writer:fresh()
  self.count = self.count + 1
  return "v" .. self.count
end

function Writer:name()
  if #self.names == 0 then
    return "shared"
  end
  return self:one_of(self.names)
end

local LITERALS = {
  "1", "2.5", "0x1F", "1e2", "'a'", "\"b\\\"\"", "[[long]]", "[==[ ]] ]==]", "nil", "true", "false",
  "\"\\x41\\z   x\"", "3",
}
local OPERATORS = { "+", "-", "*", "/", "..", "==", "~=", "<", "and", "or" }

function Writer:expression(depth)
  local kind = depth > 2 and 1 or self:pick(9)
  if kind <= 2 then
    return self:one_of(LITERALS)
  elseif kind <= 4 then
    return self:name()
  elseif kind == 5 then
    return ("%s %s %s"):format(self:expression(depth + 1), self:one_of(OPERATORS),
      self:expression(depth + 1))
  elseif kind == 6 then
    return ("{ %s, key = %s }"):format(self:expression(depth + 1), self:expression(depth + 1))
  elseif kind == 7 then
    return ("(function(...) return select('#', ...), ... end)(%s)"):format(self:expression(depth + 1))
  elseif kind == 8 then
    return ("loud(%s)"):format(self:expression(depth + 1))
  end
  return "#tostring(" .. self:expression(depth + 1) .. ")"
end

function Writer:block(depth)
  local known = #self.names
  for _ = 1, self:pick(STATEMENTS) do
    self:statement(depth)
  end
  for i = #self.names, known + 1, -1 do
    self.names[i] = nil
  end
end

local statements = {}

function statements.locals(self)
  local name = self:fresh()
  self:put("local ", name, " = ", self:expression(0))
  self.names[#self.names + 1] = name
end

function statements.note(self)
  self:put("note(", self:expression(0), ")")
end

function statements.assign(self)
  self:put(self:name(), " = ", self:expression(0), ";")
end

function statements.numeric(self, depth)
  local name = self:fresh()
  self:put("for ", name, " = 1, ", self:pick(4), " do")
  self.names[#self.names + 1] = name
  self:block(depth)
  self.names[#self.names] = nil
  self:put(self:one_of { "", "", "do break end" })
  self:put "end"
end

function statements.generic(self, depth)
  local name = self:fresh()
  self:put("for _, ", name, " in ipairs { 1, 'x', {} } do")
  self.names[#self.names + 1] = name
  self:block(depth)
  self.names[#self.names] = nil
  self:put("note(", name, ") end")
end

function statements.counted(self, depth)
  local name = self:fresh()
  self:put("local ", name, " = 0")
  self:put("while ", name, " < 3 do ", name, " = ", name, " + 1")
  self:block(depth)
  self:put "end"
end

function statements.repeated(self, depth)
  local name = self:fresh()
  self:put("local ", name, " = 0 repeat ", name, " = ", name, " + 1")
  self:put("local inner = ", name)
  self:block(depth)
  self:put("until inner >= 2")
end

function statements.go(self, depth)
  local name = self:fresh()
  self:put("do local ", name, " = 0 ::", name, "::")
  self:put(name, " = ", name, " + 1 if ", name, " > 2 then goto done_", name, " end")
  self:put "do"
  self:block(depth)
  self:put("end goto ", name, " ::done_", name, ":: end")
end

function statements.continue(self, depth)
  local name = self:fresh()
  self:put("for ", name, " = 1, 3 do if ", name, " == 2 then goto continue end do")
  self:block(depth)
  self:put("end ::continue:: end")
end

function statements.branch(self, depth)
  self:put("if ", self:expression(0), " then")
  self:block(depth)
  self:put("elseif ", self:expression(0), " then")
  self:block(depth)
  self:put "else"
  self:block(depth)
  self:put "end"
end

function statements.fn(self, depth)
  local name = self:fresh()
  self:put("local function ", name, "(", name, "_a, ...)")
  self.names[#self.names + 1] = name .. "_a"
  self:block(depth)
  self.names[#self.names] = nil
  self:put(self:one_of { "", "return ...", "return " .. name .. "_a, ...", "return note(...)" })
  self:put "end"
  self:put("note(pcall(", name, ", ", self:expression(0), ", 2))")
end

function statements.method(self, depth)
  local name = self:fresh()
  self:put("local ", name, " = { x = 1 } function ", name, ":go(by)")
  self:block(depth)
  self:put("self.x = self.x + by return self end note(", name, ":go(1):go(2).x)")
end

function statements.meta(self, depth)
  local name = self:fresh()
  self:put("local ", name, " = setmetatable({}, { __index = function(_, key)")
  self:block(depth)
  self:put("return key end, __call = function(_, ...) return ... end })")
  self:put("note(", name, ".absent, ", name, "(1, 2))")
end

function statements.thread(self, depth)
  local name = self:fresh()
  self:put("local ", name, " = coroutine.wrap(function(...) for i = 1, 3 do note(coroutine.yield(i))")
  self:block(depth)
  self:put("end return ... end) note(pcall(", name, ", 'first')) note(pcall(", name, ", 'second'))")
end

function statements.raise(self)
  self:put("note(pcall(function() error(", self:expression(0), self:one_of { "", ", 2" }, ") end))")
end

function statements.fail(self)
  self:put("note(pcall(function() local t = nil", self:one_of { "\n", " " }, "return t.x end))")
end

local NAMES = {}
for name in pairs(statements) do
  NAMES[#NAMES + 1] = name
end
table.sort(NAMES)

function Writer:statement(depth)
  local name = self:one_of(NAMES)
  if depth >= DEPTH_MAX then
    name = self:one_of { "locals", "note", "assign", "raise", "fail" }
  end
  statements[name](self, depth + 1)
end


--- Returns the program of a seed. It calls `note(...)` and `loud(value)`, and has a global `shared`.
---@param seed integer
---@return string
function random_program.new(seed)
  local writer = setmetatable({ state = seed * 48271 % 2147483647, out = {}, names = {}, count = 0 },
    Writer)
  for _ = 1, 3 do
    writer:pick(2)
    writer:block(0)
  end
  return table.concat(writer.out)
end

return random_program
