--- Suggests a module of the game for a misspelt module name.

local modules = {}

local DEPTH_MAX = 4 -- depth of searched folders
local NAMES_MAX = 256 -- modules to compare; core.nearest takes no more


-- Adds the modules in a folder; their names begin with `prefix`.
local function add(found, list, folder, prefix, depth)
  local names = depth <= DEPTH_MAX and list(folder) or {}
  table.sort(names)
  for _, name in ipairs(names) do
    local stem = name:match "^([%w_-]+)%.lua$"
    if #found >= NAMES_MAX then
      return
    elseif stem == "init" and prefix ~= "" then
      found[#found + 1] = prefix:sub(1, -2)
    elseif stem then
      found[#found + 1] = prefix .. stem
    elseif name:find "^[%w_-]+$" then
      add(found, list, folder .. "/" .. name, prefix .. name .. ".", depth + 1)
    end
  end
end


--- Returns a hint such as "; did you mean "rooms.duel"?", or "".
---@param root string folder of the game with its slash, or ""
---@param name string as in `require`
---@param list fun(folder: string): string[]? core.list
---@param nearest fun(word: string, words: string[]): string? core.nearest
---@return string
function modules.hint(root, name, list, nearest)
  local found, plain = {}, name:gsub("%.lua$", "")
  add(found, list, root == "" and "." or root:sub(1, -2), "", 1)
  local meant
  for _, known in ipairs(found) do -- for "duel", finds "rooms.duel"
    if known == plain or known:sub(-#plain - 1) == "." .. plain then
      meant = meant or known
    end
  end
  meant = meant or nearest(plain, found)
  return meant and ("; did you mean %q?"):format(meant) or ""
end

return modules
