--- Secrets of a game are in the environment of its server, and no client can see them.
local cjson = require "cjson"
local uv = require "luv"
local HttpClient = require "tests.e2e.http_client"
local McpClient = require "tests.e2e.mcp_client"
local server = require "tests.e2e.server"

local ENV_GAME = [[
  local perigee = require "perigee"
  local at_load = perigee.env "GAME_SECRET"
  local game = { on_message = {} }
  function game.on_message.at_load() return at_load end
  function game.on_message.read(_, name) return perigee.env(name) end
  function game.on_message.unset(_, name) return perigee.env(name) == nil end
  function game.on_message.try(_, name) return select(2, pcall(perigee.env, name)) end
  return game
]]

describe("perigee.env", function()
  after_each(server.stop_all)

  it("reads the variables of the server whose names begin with GAME_", function()
    local perigee = server.start { game = ENV_GAME, env = { GAME_SECRET = "s3cret" } }
    local client = perigee:client()
    assert.equal("s3cret", client:question(0, "at_load"))
    assert.equal("s3cret", client:question(0, "read", "GAME_SECRET"))
    assert.is_true(client:question(0, "unset", "GAME_OTHER"))
  end)

  it("refuses every other name at the line that asks for it", function()
    local perigee = server.start {
      game = ENV_GAME, env = { PERIGEE_RATE_LIMIT = "100", GAME = "x", MY_GAME_X = "x" },
    }
    local client = perigee:client()
    for _, name in ipairs {
      "PERIGEE_RATE_LIMIT", "PATH", "GAME", "GAME_", "MY_GAME_X", "GAME_A=B", " GAME_A", "",
    } do
      local refusal = ("game.lua:7: %q cannot be read: games read environment variables whose names "
        .. "begin with GAME_"):format(name)
      local problem = client:question(0, "try", name)
      assert.truthy(problem:find(refusal, 1, true), problem)
    end
  end)

  it("is known to perigee check, which reads the same variables", function()
    local function check(env)
      local folder = server.folder {
        ["game.lua"] = 'local perigee = require "perigee"\n'
          .. 'assert(perigee.env "GAME_SECRET", "set GAME_SECRET")\n'
          .. "return { on_start = function() perigee.evn 'GAME_X' end }",
      }
      local process = server.perigee({ "check" }, { cwd = folder, env = env })
      process:wait_exit()
      return table.concat(process.out, "\n")
    end
    local typo = "game.lua:3: error: perigee has no evn; did you mean env?\n.: 1 error"
    assert.equal(typo, check { GAME_SECRET = "x" })
    assert.truthy(check():find("game.lua:2: error: set GAME_SECRET", 1, true))
  end)
end)

local FILES = {
  ["game.lua"] = [[
    local perigee = require "perigee"
    local secret, rules = require "secret", require "config.rules"
    local game = { on_message = {} }
    function game.on_message.works() return secret .. rules.max end
    return game
  ]],
  ["secret.lua"] = 'return "s3cret"',
  ["config/rules.lua"] = "return { max = 3 }",
}

local function serve(o)
  local files = {}
  for _, source in ipairs { FILES, o.files or {} } do
    for name, text in pairs(source) do files[name] = text end
  end
  local perigee, port = McpClient.serve { files = files, flags = o.flags, env = o.env }
  local client = McpClient.connect(port)
  client.token = o.token
  return perigee, client:initialize()
end

-- Reads a resource; returns its text or the error.
local function read(client, uri)
  local message = client:ask("resources/read", { uri = uri })
  return message.result and message.result.contents[1].text, message.error and message.error.message
end

-- Returns the listed resources and templates of the sources.
local function listed(client)
  local uris = {}
  for method, fields in pairs {
    ["resources/list"] = { "resources", "uri" },
    ["resources/templates/list"] = { "resourceTemplates", "uriTemplate" },
  } do
    for _, item in ipairs(client:ask(method, cjson.decode "{}").result[fields[1]]) do
      local uri = item[fields[2]]
      if uri:find("perigee://source", 1, true) then uris[#uris + 1] = uri end
    end
  end
  table.sort(uris)
  return table.concat(uris, " ")
end

local BOTH = "perigee://source perigee://source/{path}"

describe("the sources of a game, by MCP,", function()
  after_each(server.stop_all)

  it("are hidden by default, and the answer to a read names the setting", function()
    local _, client = serve {}
    assert.equal("", listed(client))
    for _, uri in ipairs { "perigee://source", "perigee://source/secret.lua", "perigee://source/none" } do
      local text, problem = read(client, uri)
      assert.is_nil(text)
      assert.equal("the game's sources are not shown: give the server an admin_token "
        .. "(PERIGEE_ADMIN_TOKEN), or set mcp_source = true", problem)
    end
  end)

  it("are shown where every request carries the admin_token", function()
    local token = ("k"):rep(20)
    local _, client = serve {
      env = { PERIGEE_ADMIN_TOKEN = token }, token = token,
    }
    assert.equal(BOTH, listed(client))
    assert.equal(FILES["game.lua"], (read(client, "perigee://source/game.lua")))
  end)

  it("are not shown by an admin_token that only the next start asks for", function()
    local perigee, client = serve {}
    local token = ('{ config = { admin_token = "%s" }, on_message = {} }'):format(("k"):rep(20))
    perigee:save("game.lua", (FILES["game.lua"]:gsub("{ on_message = {} }", token)))
    perigee:kill "sighup"
    perigee.told = nil
    perigee:wait_log "reloaded"
    assert.equal("", listed(client))
    assert.is_nil((read(client, "perigee://source/secret.lua")))
  end)

  it("are shown with mcp_source, which a reload may change while clients listen", function()
    local perigee, client = serve {
      files = { ["game.lua"] = FILES["game.lua"]:gsub("{ on_m", "{ config = { mcp_source = true }, on_m") },
    }
    assert.equal(BOTH, listed(client))
    assert.equal('return "s3cret"', (read(client, "perigee://source/secret.lua")))
    local listener = client:listen()
    perigee:save("game.lua", FILES["game.lua"])
    perigee:kill "sighup"
    perigee.told = nil
    assert.equal("notifications/resources/list_changed", listener:expect("EVENT").data.method)
    assert.equal("", listed(client))
    assert.is_nil((read(client, "perigee://source/secret.lua")))
  end)
end)

describe("a file that .perigeeignore names", function()
  after_each(server.stop_all)

  it("is used by the game, and never shown by MCP", function()
    local perigee, client = serve {
      flags = { mcp_source = true },
      files = { [".perigeeignore"] = "# ours\nsecret.lua\nconfig/\n" },
    }
    assert.equal("s3cret3", perigee:client():question(0, "works"))
    assert.same({ "game.lua" }, cjson.decode((read(client, "perigee://source"))).files)
    for _, path in ipairs { "secret.lua", "config/rules.lua", "config/none.lua" } do
      local text, problem = read(client, "perigee://source/" .. path)
      assert.is_nil(text)
      assert.equal(path .. " is never shown: .perigeeignore names it", problem)
    end
    for _, path in ipairs { "./secret.lua", "../game.lua", ".perigeeignore" } do
      local text, problem = read(client, "perigee://source/" .. path)
      assert.is_nil(text)
      assert.equal(path .. " is never shown: its name begins with a dot", problem)
    end
    perigee:save(".perigeeignore", "game.lua\n") -- this has an effect at once
    assert.same({ "config/rules.lua", "secret.lua" }, cjson.decode((read(client, "perigee://source"))).files)
    assert.is_nil((read(client, "perigee://source/game.lua")))
  end)

  it("does not appear in what check prints, whatever text it gets", function()
    local _, client = serve {
      files = { [".perigeeignore"] = "secret.lua\n" }, env = { GAME_SECRET = "env s3cret" },
    }
    local function check(text)
      local result = client:call("check", { path = "game.lua", text = text })
      return result.content[1].text, result.isError
    end
    for _, text in ipairs {
      'error(require "secret")', 'error(tostring(require("sec" .. "ret")))',
      'print(require "secret") error "x"', 'error(require("perigee").env "GAME_SECRET" or "unset")',
      'return { on_start = require "secret" }',
    } do
      assert.is_nil((check(text):find("s3cret", 1, true)), text)
    end
    local said, failed = check(FILES["game.lua"] .. "\n-- changed")
    assert.is_nil(failed, said)
    said = check 'local s = require "secret" error((s .. 1) .. type(s.any.field("x")))'
    assert.matches(":1: table$", said)
  end)

  it("is never served by HTTP, whatever leads to it", function()
    local perigee = server.start { files = {
      ["game.lua"] = "return {}",
      [".perigeeignore"] = "public/notes.txt\n*.psd\ndrafts/\n",
      ["public/notes.txt"] = "secret", ["public/.hidden"] = "secret", ["public/notes"] = "shown",
    } }
    for _, folder in ipairs { "art", "drafts" } do
      assert(uv.fs_mkdir(perigee.folder .. "/public/" .. folder, 493))
    end
    for _, path in ipairs { "art/hero.psd", "drafts/index.html", "drafts/a.js" } do
      perigee:save("public/" .. path, "secret")
    end
    perigee:save("public/art/hero.png", "shown")
    local function link(to, name) assert(uv.fs_symlink(to, perigee.folder .. "/public/" .. name)) end
    link("notes.txt", "link.txt")
    link("art/hero.png", "shown.psd")
    link(".hidden", "dot.txt")
    link("drafts", "open")
    local client = HttpClient.connect(perigee.port)
    for _, target in ipairs {
      "/notes.txt", "/art/hero.psd", "/drafts", "/drafts/", "/drafts/a.js", "/drafts/index.html", "/.hidden",
      "/link.txt", "/shown.psd", "/dot.txt", "/open/", "/open/a.js", "/%6eotes.txt",
    } do
      assert.equal(404, client:get(target).status, target)
    end
    assert.equal("shown", client:get("/art/hero.png").body)
    assert.equal("shown", client:get("/notes").body)
    perigee:save(".perigeeignore", "*.png\n")
    assert.equal(404, client:get("/art/hero.png").status)
    assert.equal("secret", client:get("/notes.txt").body)
    assert(uv.fs_unlink(perigee.folder .. "/.perigeeignore"))
    assert.equal("shown", client:get("/art/hero.png").body)
    assert(uv.fs_mkdir(perigee.folder .. "/.perigeeignore", 493)) -- rules that cannot be read
    assert.equal(404, client:get("/art/hero.png").status)
  end)
end)
