--- The walk through a value that encoders and decoders in C have in common (c_encoder, c_decoder): twice
--- through each scope, for its bits and for its bytes. See docs/schema.md, "The encoding".

local c_code = require "perigee.schema.c_code"
local layout = require "perigee.schema.layout"

-- Visits a value with the writer of its kind; some kinds have nothing in the bits, or in the bytes.
local function visitor(writers)
  return function(self, of, x, path, has)
    local write = writers[of.kind]
    if write then
      write(self, of, x, path, has)
    end
  end
end

-- The writer of arrays, in the part of the scope where `is_here` holds.
local function array_writer(is_here, visit)
  return function(self, of, x, path)
    if is_here(of) then
      self:each(of.count, function(index)
        visit(self, of.of, ("%s[%s]"):format(x, index), path .. "[%zu]")
      end)
    end
  end
end

local function is_bytes(of)
  return not layout.is_bits(of)
end


--- Makes a walk. Writers, by kind, are called with the code that is written (c_code), the type, the value in
--- C, its path, and whether it is there, where it is optional. Those of records, arrays and optional
--- values are added here, and `bytes.elements`, of lists.
---@param bits table<string, function> writers for the bits of a scope
---@param bytes table<string, function> writers for its bytes
---@param bit_part fun(code: table, count: integer, path: string, write: fun()) with what goes around them
---@return fun(types: table, state: string, of: table, x: string, path: string, has: string?): table code
return function(bits, bytes, bit_part)
  local visit_bits, visit_bytes = visitor(bits), visitor(bytes)

  local function visit(self, of, x, path, has)
    bit_part(self, c_code.bits(of), path, function() visit_bits(self, of, x, path, has) end)
    visit_bytes(self, of, x, path, has)
  end

  function bits.record(self, of, x, path) self:each_field(of, x, path, visit_bits) end
  function bytes.record(self, of, x, path) self:each_field(of, x, path, visit_bytes) end

  bits.array = array_writer(layout.is_bits, visit_bits)
  bytes.array = array_writer(is_bytes, visit)

  function bytes.optional(self, of, x, path, has)
    self:open("if (%s) {", has)
    visit(self, of.of, x, path)
    self:close()
  end

  function bytes.elements(self, of, items, path, count)
    self:each(count, function(index)
      local item = ("%s[%s]"):format(items, index)
      visit(self, of.of, of.of.kind == "array" and item .. ".items" or item, path .. "[%zu]")
    end)
  end

  return function(types, state, of, x, path, has)
    local self = c_code.new(types, state)
    visit(self, of, x, path, has)
    return self
  end
end
