--- The Lua of docs/mcp.md does what the page says.
local cjson = require "cjson"
local pages = require "tests.pages"
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"

local PAGE = pages.read "docs/mcp.md"

describe("docs/mcp.md", function()
  after_each(server.stop_all)

  it("has code that works", function()
    local blocks = pages.blocks(PAGE, "lua")
    assert.equal(2, #blocks)
    local _, port = McpClient.serve {
      game = ('local perigee = require "perigee"\n%s\nperigee.rooms.create "hall"\nreturn {}')
        :format(table.concat(blocks)),
    }
    local client = McpClient.connect(port):initialize()
    assert.equal("done", client:call("spawn", { room = "hall" }).content[1].text)
    local result = client:call("spawn", { room = "none" })
    assert.is_true(result.isError)
    assert.equal("no such room", result.content[1].text)
    local hero = client:ask("resources/read", { uri = "game://hero/ann" }).result.contents[1].text
    assert.equal("all about ann", hero)
    local prompt = client:ask("prompts/get", { name = "balance", arguments = { weapon = "axe" } })
    assert.equal("Is the axe too strong?", prompt.result.messages[1].content.text)
  end)

  it("names all tools and resources of the server's own", function()
    local _, port = McpClient.serve { game = "return {}", flags = { mcp_write = true, mcp_source = true } }
    local client = McpClient.connect(port):initialize()
    local function names(method, list, field)
      for _, item in ipairs(client:ask(method, cjson.decode "{}").result[list]) do
        assert.truthy(PAGE:find("`" .. item[field] .. "`", 1, true), item[field])
      end
    end
    names("tools/list", "tools", "name")
    names("resources/list", "resources", "uri")
    names("resources/templates/list", "resourceTemplates", "uriTemplate")
  end)
end)
