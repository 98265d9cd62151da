-- Objects with methods, inheritance and callbacks.
local Unit = {}
Unit.__index = Unit

function Unit.new(name)
  return setmetatable({ name = name, health = 100, listeners = {} }, Unit)
end

function Unit:on(fn)
  table.insert(self.listeners, fn)
end

function Unit:hurt(amount)
  self.health = self.health - amount
  if self.health <= 0 then
    self.health = 100
  end
  for _, fn in ipairs(self.listeners) do
    fn(self, amount)
  end
end

local Knight = setmetatable({}, { __index = Unit })
Knight.__index = Knight

function Knight.new(name)
  return setmetatable(Unit.new(name), Knight)
end

function Knight:hurt(amount)
  Unit.hurt(self, amount * 0.5)
end

return function()
  local hits, units = 0, {}
  for i = 1, 20 do
    local unit = (i % 2 == 0 and Knight or Unit).new("unit " .. i)
    unit:on(function(_, amount) hits = hits + amount end)
    unit:on(function(self) hits = hits + (self.health > 50 and 1 or 0) end)
    units[i] = unit
  end
  for round = 1, 20000 do
    for _, unit in ipairs(units) do
      unit:hurt(round % 10)
    end
  end
  return hits
end
