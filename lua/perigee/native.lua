--- Another name of perigee.client, whose guide is docs/lua-client.md, for games that were written
--- for it. `native.json = { encode = ..., decode = ... }` sets functions for JSON where there is no
--- lua-cjson; perigee.client has `use_json` for it.

local client = require "perigee.client"

return setmetatable({}, {
  __index = client,
  __newindex = function(native, key, value)
    if key == "json" then client.use_json(value) end
    rawset(native, key, value)
  end,
})
