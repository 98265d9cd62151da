--- docs/deploying.md: its settings, hook and scripts, with the places of this machine replaced by a folder.
local pages = require "tests.pages"
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"
local wait = require "tests.e2e.wait"

local PAGE = pages.read "docs/deploying.md"

-- Returns the block of the page that begins with this line.
local function block(kind, line)
  for _, text in ipairs(pages.blocks(PAGE, kind)) do
    if text:find(line, 1, true) then return text end
  end
  error("no block of " .. kind .. " has " .. line)
end

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store "players"
  local game = { on_message = {} }
  function game.on_message.put(_, value)
    players:put("ann", value)
    return (perigee.store.commit())
  end
  function game.on_message.get() return players:get "ann" end
  return game
]]

-- `systemctl`, which writes its arguments into a file.
local SYSTEMCTL = "#!/bin/sh\necho \"$@\" >> %s/calls\n"

-- Makes a folder with the commands that the page's scripts call.
local function machine()
  local folder = server.folder { ["bin/systemctl"] = "", ["game.lua"] = GAME }
  local file = assert(io.open(folder .. "/bin/systemctl", "w"))
  file:write(SYSTEMCTL:format(folder))
  file:close()
  shell.run(("chmod +x %s/bin/systemctl && ln -s %s %s/bin/perigee"):format(folder, server.binary(), folder))
  return folder
end

-- Runs text of the page as a script. The folder replaces the machine's places.
local function run_text(folder, text, env)
  text = text:gsub("/etc/perigee", folder .. "/etc"):gsub("/var/backups", folder .. "/backups")
    :gsub("/var/lib/perigee/duel", folder .. "/data"):gsub("ssl%-cert", shell.run("id -gn"):match "%S+")
  local path = folder .. "/script"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return shell.run(("cd %s && PATH=%s/bin:$PATH %s sh -e %s"):format(folder, folder, env or "", path))
end

-- Returns the indented commands of the page, from the line that begins so to the end of their block.
local function commands(start)
  local from = assert(PAGE:find("\n    " .. start, 1, true), start)
  return (PAGE:sub(from):match "^(\n.-)\n\n":gsub("\n    ", "\n")) .. "\n"
end

describe("docs/deploying.md", function()
  after_each(server.stop_all)

  it("has a hook whose certificate the settings name, and which reloads the game", function()
    local folder = machine()
    shell.run(("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
      .. "-subj /CN=game.example -keyout privkey.pem -out fullchain.pem"):format(folder))
    run_text(folder, block("sh", "renewal-hooks"), "RENEWED_LINEAGE=" .. folder)
    assert.equal("try-reload-or-restart perigee@duel\n", shell.read(folder .. "/calls"))
    assert.equal("640", shell.run("stat -c %a " .. folder .. "/etc/duel/privkey.pem"):match "%d+")

    local env = { PERIGEE_ADMIN = "false", PERIGEE_LOG_FORMAT = "json" }
    for name, value in block("ini", "duel.env"):gmatch "(PERIGEE_[%w_]+)=(%S+)" do
      env[name] = value:gsub("/etc/perigee", folder .. "/etc"):gsub("^443$", "0")
    end
    assert.truthy(env.PERIGEE_TLS_KEY and env.PERIGEE_HOSTS)
    local process = server.perigee({ "run", "--prod", folder }, { env = env })
    process:wait_out "^perigee: ready()$"
    local function logs(text)
      return function() return table.concat(process.err, "\n"):find(text, 1, true) end
    end
    wait.for_true(logs "TLS certificate read")
    process:kill "sighup"
    wait.for_true(logs "reloaded")
  end)

  it("has a backup that runs beside the game, and commands that restore it", function()
    local folder = machine()
    local before = server.start { path = folder }
    local ann = before:client "ann"
    assert.is_true(ann:question(0, "put", "first"))
    run_text(folder, block("sh", "cron.daily"))
    run_text(folder, "perigee store check --store /var/backups/perigee/duel-$(date +%u).db\n")
    assert.is_true(ann:question(0, "put", "second"))
    before:stop()

    run_text(folder, "cp backups/perigee/duel-*.db /var/backups/perigee/duel-1.db || true\n"
      .. commands "systemctl stop perigee@duel")
    assert.equal("stop perigee@duel\nstart perigee@duel\n", shell.read(folder .. "/calls"))
    assert.equal("600", shell.run("stat -c %a " .. folder .. "/data/game.db"):match "%d+")
    local after = server.start { path = folder }
    assert.equal("first", after:client("bob"):question(0, "get"))
    after:stop()
  end)
end)
