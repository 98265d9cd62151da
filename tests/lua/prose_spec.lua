--- scripts/prose.lua: the sentences in comments and pages.
local prose = dofile "scripts/prose.lua"

local function sentences(ending, text)
  local path, list = os.tmpname() .. "." .. ending, {}
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  prose.sentences(path, function(sentence, line) list[#list + 1] = line .. " " .. sentence end)
  os.remove(path)
  return list
end

describe("sentences", function()
  it("of C go over lines, and end with the comment", function()
    assert.same({ "1 One of two lines.", "1 Another", "3 behind code" },
      sentences("c", "// One of two\n// lines. Another\nint x;  // behind code\n"))
  end)

  it("of Lua leave out annotations, headings and code", function()
    assert.same({ "1 Calls x.", "4 Text" },
      sentences("lua", "--- Calls `fn()`.\n---@param fn function\n-- Heading -----\n-- Text\nlocal x = 1\n"))
  end)

  it("of pages leave out code, tables and titles, and begin with each item", function()
    assert.same({ "3 A line that goes on.", "5 one", "6 two" },
      sentences("md", "# Title\n\nA line\nthat goes on.\n- one\n- two\n\n    code. More.\n| a. B. |\n"
        .. "```\ncode.\n```\n"))
  end)
end)
