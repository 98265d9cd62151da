--- Former name of perigee.client, for older games. docs/lua-client.md is the guide of perigee.client.
--- `native.json = { encode = ..., decode = ... }` sets functions for JSON if lua-cjson is missing;
--- perigee.client has `use_json` for that.

local client = require "perigee.client"

return setmetatable({}, {
  __index = client,
  __newindex = function(native, key, value)
    if key == "json" then client.use_json(value) end
    rawset(native, key, value)
  end,
})
