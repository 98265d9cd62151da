--- Follows docs/tutorial.md step by step: writes and changes its files, and compares the output of each
--- command and terminal.
local pages = require "tests.pages"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local Sessions = require "tests.e2e.sessions"
local wait = require "tests.e2e.wait"

local PAGE = pages.read "docs/tutorial.md"

-- Replaces a browser: prints everything that the page shows, and clicks the first button once.
local BROWSER = [[
  const elements = {};
  let isClicked = false;
  const element = (id) => elements[id] ??= {
    set textContent(text) { console.log(id, text); },
    replaceChildren(...children) {
      console.log(id, children.map(({ textContent }) => textContent.trim().split(" ")[0]).join());
      if (!isClicked) children[0].onclick();
      isClicked = true;
    },
  };
  globalThis.document = { getElementById: element, createElement: () => ({}) };
]]

describe("docs/tutorial.md", function()
  local sessions, has_changed

  local function write(name, text)
    Process.write_file(sessions.folder .. "/potato/" .. name, text)
    has_changed = true
  end

  -- Replaces lines of a file: "-" goes, "+" comes, and " " stays.
  local function edit(text)
    local name = text:match "^# (%S+)\n"
    local from, to = {}, {}
    for sign, line in (text .. "\n"):gsub("^#[^\n]*\n", ""):gmatch "([-+ ])([^\n]*)\n" do
      if sign ~= "+" then from[#from + 1] = line end
      if sign ~= "-" then to[#to + 1] = line end
    end
    local before = pages.read(sessions.folder .. "/potato/" .. name)
    local first, last = before:find(table.concat(from, "\n") .. "\n", 1, true)
    assert.truthy(first, name .. " has no " .. table.concat(from, "\n"))
    write(name, before:sub(1, first - 1) .. table.concat(to, "\n") .. before:sub(last))
  end

  -- Opens a page, and clicks its first button.
  local function open_page(text)
    local address = "127.0.0.1:" .. sessions.running.port
    local script = text:match('<script type="module">(.*)</script>')
      :gsub("connect%(", ("%%0%q, "):format(address))
      :gsub('"/perigee.js"', ("%q"):format(Process.ROOT .. "/clients/js/perigee.js"))
    local folder = server.folder { ["page.mjs"] = BROWSER .. script }
    local process = server.spawn("/usr/bin/env", { "node", folder .. "/page.mjs" })
    process:wait_out "^news you are (player%d+)$"
    process:wait_out "^players .*player%d+"
    wait.for_true(function() -- refused, unless the potato was given to this player
      local shown = table.concat(process.out, "\n")
      return shown:find "you do not have" or shown:find "players.*\nplayers"
    end)
    process:kill "sigterm"
  end

  local function play(block)
    local info, text = block.info, block.text
    local name = text:match "^%-%- (%S+)\n" or text:match "^<!%-%- (%S+) %-%->\n"
    if info == "diff" then
      edit(text)
    elseif name then
      write(name, text .. "\n")
      if info == "html" then open_page(text) end
    else
      if has_changed and info:find "console %w" and info ~= "console server" then
        sessions:run "reload" -- a player types more slowly than the server reloads
        has_changed = false
      end
      sessions:play(info, text)
    end
  end

  after_each(server.stop_all)

  it("makes a game, step by step", function()
    sessions = Sessions.new(server.folder {})
    for _, block in ipairs(Sessions.blocks(PAGE)) do
      play(block)
    end
  end)
end)
