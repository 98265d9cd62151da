--- The functions for specs that concern the store of a simulated server.

local cjson = require "cjson"
local failure = require "perigee.testing.failure"
local sim = require "perigee.sim"

local FAILURE = { times = "number", only = "string" }


-- Returns the number and the schema of a collection.
local function find(self, name)
  self:_check_running()
  failure.check("the name of a collection", name, "string")
  local index, schema = sim.inspect(self._id, "collection", name)
  if not index then failure.raise("the game has no collection %s", name) end
  return index, schema
end


return function(Server)
  --- Returns the values of all documents of a collection, by id.
  ---@param name string
  ---@return table<string, any>
  function Server:store(name)
    local values = {}
    for id, json in pairs(sim.documents(self._id, (find(self, name)))) do values[id] = cjson.decode(json) end
    return values
  end


  --- Writes a document.
  ---@param name string
  ---@param id string
  ---@param value any
  function Server:store_put(name, id, value)
    local index, schema = find(self, name)
    failure.check("a key", id, "string")
    sim.store_put(self._id, index, id, cjson.encode(value), schema)
  end


  --- Makes calls of the store fail with this text. Without a text, they work again.
  ---@param text? string
  ---@param options? table
  function Server:store_fails(text, options)
    self:_check_running()
    failure.check_options("store_fails", options or {}, FAILURE)
    sim.store_fails(self._id, text, options and options.only, options and options.times)
  end
end
