--- Requires a module that is not written in Lua. If it is missing, the error says how to install it.

local HOW = {
  cjson = "install it with `apt install lua-cjson` or `luarocks install lua-cjson`",
  ["perigee.client.core"] = "Perigee's build has it (build/release/lua/perigee/client/core.so), and "
    .. "so has its rock; package.cpath has to name its folder, as "
    .. "LUA_CPATH=\"build/release/lua/?.so;;\" does",
}

---@param module string name of the module for `require`
---@return any module
return function(module)
  local ok, result = pcall(require, module)
  if ok then return result end
  if not tostring(result):find("not found", 1, true) then error(result, 0) end
  error(("perigee.client needs the Lua module %q: %s"):format(module, HOW[module]), 0)
end
