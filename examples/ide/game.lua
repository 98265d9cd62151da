-- An IDE whose plugins run code for an LLM: the tool's calls go to whoever serves the channel "ide".
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

-- A plugin that is gone is gone at once: the next one may serve the channel.
return { config = { resume_timeout = 0 } }
