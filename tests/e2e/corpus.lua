--- The inputs of the fuzzers: the files of tests/fuzz/corpus.
local Process = require "tests.e2e.process"
local uv = require "luv"

local corpus = {}


--- Returns all inputs, in the same order each time.
---@return string[]
function corpus.read()
  local inputs, root = {}, Process.ROOT .. "/tests/fuzz/corpus"
  for folder in uv.fs_scandir_next, assert(uv.fs_scandir(root)) do
    for name in uv.fs_scandir_next, assert(uv.fs_scandir(root .. "/" .. folder)) do
      local file = assert(io.open(root .. "/" .. folder .. "/" .. name, "rb"))
      inputs[#inputs + 1] = file:read "*a"
      file:close()
    end
  end
  assert(#inputs > 100)
  table.sort(inputs)
  return inputs
end


return corpus
