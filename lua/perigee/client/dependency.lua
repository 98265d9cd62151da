--- Requires a library that does not come with Perigee; when it is missing, one line names its package.

---@param module string the module, as `require` knows it
---@param debian string the Debian package that brings it
---@param rock string the rock that brings it
---@return any module
return function(module, debian, rock)
  local ok, result = pcall(require, module)
  if ok then return result end
  if not tostring(result):find("not found", 1, true) then error(result, 0) end
  error(("perigee.client needs the Lua module %q: install it with `apt install %s` or "
    .. "`luarocks install %s`"):format(module, debian, rock), 0)
end
