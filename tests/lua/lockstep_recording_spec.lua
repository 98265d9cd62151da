--- Reading and writing recordings of matches: edited files, and full disks.
local fake_core = require "tests.lua.fake_core"

package.loaded["perigee.core"] = package.loaded["perigee.core"] or fake_core

local core = require "perigee.core"
local recorders = require "perigee.lockstep.recorder"
local recording = require "perigee.lockstep.recording"
local uv = require "luv"

local HEAD = recording.head("m:1", 5, 7, 20)

local function read(...)
  return recording.read(((table.concat({ ... }, "\n") .. "\n"):gmatch "([^\n]*)\n"))
end

describe("a recording", function()
  it("is read as it was written", function()
    local entries = {
      { slot = 0, kind = "joined", id = 3, name = "ann", data = "" }, { slot = 1, kind = "left", data = "" },
      { slot = 0, kind = "input", data = "\0\255x" }, { slot = 254, kind = "missing", data = "" },
    }
    local whole = assert(read(HEAD, recording.turn(1, entries), recording.hash(1, 2 ^ 32 - 1),
      recording.turn(2, {})))
    assert.same({ format = recording.FORMAT, room = "m:1", match = 5, seed = 7, interval = 0.05 },
      whole.head)
    assert.same({ entries, {} }, whole.turns)
    assert.same({ 2 ^ 32 - 1 }, whole.hashes)
  end)

  it("says which line cannot be, whatever was made of it", function()
    local bad_heads = {
      "null", "5", "[]", '{"format":"perigee lockstep 1"}', (HEAD:gsub('"m:1"', "5")),
      (HEAD:gsub("0.05", "0")), (HEAD:gsub("0.05", "1e300")), (HEAD:gsub('"seed":7', '"seed":"x"')),
      (HEAD:gsub('"match":5', '"match":-1')),
      (HEAD:gsub('"interval":[^,}]*', '"interval":null')),
    }
    for _, head in ipairs(bad_heads) do
      assert.are_not.equal(HEAD, head)
      assert.same({ nil, "line 1 is not part of a recording" }, { read(head, '{"turn":1}') })
    end
    for _, line in ipairs {
      "null", "{}", '{"hash":5}', '{"hash":"x","turn":1}', '{"hash":1.5,"turn":1}',
      '{"turn":"1"}', '{"turn":2}', '{"turn":1,"entries":5}', '{"turn":1,"entries":null}',
      '{"turn":1,"entries":[5]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"input","data":5}]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"input","data":"0"}]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"input","data":"xy"}]}',
      '{"turn":1,"entries":[{"slot":255,"kind":"left"}]}', '{"turn":1,"entries":[{"kind":"left"}]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"nothing"}]}', '{"turn":1,"entries":[{"slot":0}]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"joined","id":1}]}',
      '{"turn":1,"entries":[{"slot":0,"kind":"joined","id":"x","name":"ann"}]}',
    } do
      assert.same({ nil, "line 2 is not part of a recording" }, { read(HEAD, line, '{"turn":1}') })
    end
  end)

  it("ends where no more can be written, and that is told", function()
    local folder = assert(uv.fs_mkdtemp((os.getenv "TMPDIR" or "/tmp") .. "/perigee-recording-XXXXXX"))
    local had_make, had_now, now = core.make_folder, core.now, 1000
    core.make_folder, core.now = function() end, function() return now end
    local ignored = uv.new_signal()
    ignored:start("sigpipe", function() end)
    finally(function()
      core.make_folder, core.now = had_make, had_now
      ignored:close()
      uv.run "nowait" -- luv crashes if the program ends while a handle is closing
    end)
    -- Each of these names leads to a pipe. When its reader has gone, a write fails as on a full disk.
    local pipe = assert(uv.pipe())
    for second = 0, 5 do
      local name = os.date("!m-%Y%m%d-%H%M%S-5.lockstep", os.time() + second)
      assert(uv.fs_symlink("/proc/self/fd/" .. pipe.write, folder .. "/" .. name))
    end
    local warnings = {}
    local function open(id)
      return recorders.open(folder, 2 ^ 20, { kind = "m", name = "m:1" }, {
        id = id, seed = 7, settings = { turn_rate = 20 },
        out = { warn = function(text) warnings[#warnings + 1] = text end },
      })
    end
    local recorder = open(5)
    for turn = 1, 1000 do
      if turn == 500 then uv.fs_close(pipe.read) end
      recorder:turn(turn, "\0")
    end
    recorder:close()
    uv.fs_close(pipe.write)
    assert.equal(1, #warnings)
    assert.truthy(warnings[1]:find("ends here: [Bb]roken pipe"))
    -- The recorder opens none of these files, because it waits a minute after a failure.
    for id = 6, 100 do open(id):close() end
    now = now + 60
    local another = open(101)
    assert.truthy(uv.fs_stat(another.path))
    assert.is_nil(uv.fs_stat((another.path:gsub("101", "100"))))
    another:close()
    assert.equal(1, #warnings)
    for name in uv.fs_scandir_next, (assert(uv.fs_scandir(folder))) do uv.fs_unlink(folder .. "/" .. name) end
    uv.fs_rmdir(folder)
  end)
end)
