--- Compares the server's output with tests/e2e/captures byte by byte: each packet of docs/protocol.md, over
--- each transport, with threads and without. PERIGEE_CAPTURE=write writes new captures after a change of the
--- protocol; the difference of the files then shows the change.
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local wait = require "tests.e2e.wait"

local IS_WRITING = os.getenv "PERIGEE_CAPTURE" == "write"
local FOLDER = "tests/e2e/captures/"

local stories = {}
for _, part in ipairs { "packets", "limits", "text_and_web", "datagrams", "games" } do
  for name, story in pairs(require("tests.e2e.capture." .. part)) do stories[name] = story end
end


local function path_of(name)
  return FOLDER .. name:gsub(" ", "_") .. ".txt"
end


local function read(path)
  local file = assert(io.open(path), "no capture: PERIGEE_CAPTURE=write makes it")
  local text = file:read "*a"
  file:close()
  return text
end


local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end


-- Returns the first line that differs, and the connection above it.
local function difference(stored, got)
  local label
  local want, have = lines_of(stored), lines_of(got)
  for i = 1, math.max(#want, #have) do
    if want[i] ~= have[i] then
      return ("%s, line %d:\n  stored: %s\n  came:   %s"):format(label, i, want[i], have[i])
    end
    if want[i]:sub(1, 3) == "-- " then label = want[i] end
  end
end


local function check(name, text)
  if IS_WRITING then
    local file = assert(io.open(path_of(name), "w"))
    file:write(text)
    file:close()
    return
  end
  local found = difference(read(path_of(name)), text)
  if found then error(found, 0) end
end


describe("the captures", function()
  it("have each packet of the page that a server sends", function()
    local texts = {}
    for name in pairs(stories) do texts[#texts + 1] = "\n" .. read(path_of(name)):gsub("\n%s+", "\n") end
    local all = table.concat(texts)
    local count = 0
    for part in read("docs/protocol.md"):gmatch "\nServer to client:\n(.-)\n\n%u" do
      for name in part:gmatch "\n| 1%d%d | ([%u_]+) |" do
        assert(name == "REDIRECT" or name == "SIGNED_IN" or -- their tokens differ each time
          all:find("\n" .. name .. " ", 1, true), name .. " is in no capture")
        count = count + 1
      end
    end
    assert.equal(17 + 10, count)
    for _, name in ipairs { "PING", "PONG", "ACK", "MESSAGE", "PACKET", "CHALLENGE", "ACCEPTED" } do
      assert(all:find("\n" .. name .. " ", 1, true), name .. " is in no capture")
    end
  end)
end)

for _, threads in ipairs { 0, 2 } do
  describe(("what the server sends, with %d io_threads,"):format(threads), function()
    local texts, failures = {}, {}

    -- All stories run at the same time, because some wait for time to pass.
    setup(function()
      local left = 0
      for name, story in pairs(stories) do
        left = left + 1
        wait.start_task(function()
          local ok, result = xpcall(story, debug.traceback, threads)
          if not ok then
            failures[name] = result
          elseif result then
            texts[name] = result.capture:text()
            if not result.perigee.told then result.perigee:kill "sigterm" end -- all at once
          end
          left = left - 1
        end)
      end
      wait.until_true(function() return left == 0 end, 30)
      server.stop_all()
      udp_client.close_all()
    end)

    for name in pairs(stories) do
      it("is what it was: " .. name, function()
        if failures[name] then error(failures[name], 0) end
        if texts[name] then check(name, texts[name]) end
      end)
    end
  end)
end
