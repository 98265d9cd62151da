-- An IDE whose plugins run code for an LLM. The plugin that serves the channel "ide" gets the calls of the
-- LLM's tool.
local perigee = require "perigee"

perigee.mcp.tool {
  name = "execute_code",
  description = "Runs code in the playground, without files or network, and tells what it printed",
  input = {
    type = "object",
    required = { "code", "language" },
    properties = {
      code = { type = "string", maxLength = 20000, description = "Code to run" },
      language = { type = "string", enum = { "lua" } },
    },
    additionalProperties = false,
  },
  channel = "ide",
  timeout = 5,
}

-- A lost plugin does not wait for a resume, so that the next one can serve the channel at once.
local game = { config = { resume_timeout = 0 } }

-- The client that serves the channel gets the LLM's calls, so it has to be a program on this machine. For
-- programs elsewhere, give them a secret: channels = { ide = { token = "GAME_IDE_TOKEN" } }.
local HERE = { ["127.0.0.1"] = true, ["::1"] = true }

function game.on_channel_open(peer, name)
  if name ~= "ide" or not HERE[peer.address] then
    return false, "only the channel ide is served, from the server's own machine"
  end
end

return game
