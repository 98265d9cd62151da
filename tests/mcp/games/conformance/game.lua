-- Tools, resources and prompts that the official conformance suite for servers requires, with the names that
-- it uses.
local perigee = require "perigee"
local mcp = perigee.mcp

local PNG = "\137PNG\r\n\26\n" .. "\0\0\0\rIHDR\0\0\0\1\0\0\0\1\8\6\0\0\0\31\21\196\137"
local WAV = "RIFF\36\0\0\0WAVEfmt \16\0\0\0\1\0\1\0\64\31\0\0\128\62\0\0\2\0\16\0data\0\0\0\0"

local function tool(name, handler, input)
  mcp.tool {
    name = name, description = "Tests " .. name:gsub("^test_", ""):gsub("_", " "), input = input,
    handler = handler,
  }
end

tool("test_simple_text", function()
  return "This is a simple text response for testing."
end)

tool("test_image_content", function()
  return { content = { { type = "image", bytes = PNG, mimeType = "image/png" } } }
end)

tool("test_audio_content", function()
  return { content = { { type = "audio", bytes = WAV, mimeType = "audio/wav" } } }
end)

tool("test_embedded_resource", function()
  return { content = { {
    type = "resource",
    resource = {
      uri = "test://embedded-resource", mimeType = "text/plain",
      text = "This is an embedded resource content.",
    },
  } } }
end)

tool("test_multiple_content_types", function()
  return { content = {
    { type = "text", text = "Multiple content types test:" },
    { type = "image", bytes = PNG, mimeType = "image/png" },
    { type = "resource", resource = {
      uri = "test://mixed-content-resource", mimeType = "application/json",
      text = '{"test":"data","value":123}',
    } },
  } }
end)

tool("test_tool_with_logging", function(_, session)
  session:log("info", "Tool execution started")
  perigee.sleep(0.05)
  session:log("info", "Tool processing data")
  perigee.sleep(0.05)
  session:log("info", "Tool execution completed")
  return "done"
end)

tool("test_tool_with_progress", function(_, session)
  session:progress(0, 100)
  perigee.sleep(0.05)
  session:progress(50, 100)
  perigee.sleep(0.05)
  session:progress(100, 100)
  return "done"
end)

tool("test_error_handling", function()
  return nil, "This tool intentionally returns an error for testing"
end)

tool("test_reconnection", function(_, session)
  session:hang_up()
  perigee.sleep(0.1)
  return "Reconnection test completed successfully."
end)

tool("test_sampling", function(arguments, session)
  local result, problem = session:ask("sampling/createMessage", {
    messages = { { role = "user", content = { type = "text", text = arguments.prompt } } },
    maxTokens = 100,
  })
  if not result then
    return nil, problem
  end
  return "LLM response: " .. tostring(result.content.text)
end, {
  type = "object", properties = { prompt = { type = "string" } }, required = { "prompt" },
})

-- Requests input from the user and returns the outcome as text.
local function elicit(session, message, properties, required)
  local result, problem = session:ask("elicitation/create", {
    message = message,
    requestedSchema = { type = "object", properties = properties, required = required },
  })
  if not result then
    return nil, problem
  end
  local pairs_of = {}
  for name, value in pairs(result.content or {}) do
    pairs_of[#pairs_of + 1] = name .. "=" .. tostring(value)
  end
  table.sort(pairs_of)
  return ("Elicitation completed: action=%s, content={%s}"):format(result.action,
    table.concat(pairs_of, ", "))
end

tool("test_elicitation", function(arguments, session)
  return elicit(session, arguments.message, {
    username = { type = "string", description = "User's response" },
    email = { type = "string", description = "User's email address" },
  }, { "username", "email" })
end, {
  type = "object", properties = { message = { type = "string" } }, required = { "message" },
})

tool("test_elicitation_sep1034_defaults", function(_, session)
  return elicit(session, "Please confirm", {
    name = { type = "string", default = "John Doe" },
    age = { type = "integer", default = 30 },
    score = { type = "number", default = 95.5 },
    status = { type = "string", enum = { "active", "inactive", "pending" }, default = "active" },
    verified = { type = "boolean", default = true },
  })
end)

tool("test_elicitation_sep1330_enums", function(_, session)
  local titled = {
    { const = "value1", title = "First Option" }, { const = "value2", title = "Second Option" },
    { const = "value3", title = "Third Option" },
  }
  local options = { "option1", "option2", "option3" }
  return elicit(session, "Please choose", {
    untitledSingle = { type = "string", enum = options },
    titledSingle = { type = "string", oneOf = titled },
    legacyEnum = {
      type = "string", enum = { "opt1", "opt2", "opt3" },
      enumNames = { "Option One", "Option Two", "Option Three" },
    },
    untitledMulti = { type = "array", items = { type = "string", enum = options } },
    titledMulti = { type = "array", items = { anyOf = titled } },
  })
end)

tool("json_schema_2020_12_tool", function()
  return "ok"
end, {
  ["$schema"] = "https://json-schema.org/draft/2020-12/schema",
  type = "object",
  ["$defs"] = {
    address = {
      type = "object", properties = { street = { type = "string" }, city = { type = "string" } },
    },
  },
  properties = { name = { type = "string" }, address = { ["$ref"] = "#/$defs/address" } },
  additionalProperties = false,
})

-- Resources and prompts ---------------------------------------------------------------------

mcp.resource {
  uri = "test://static-text", name = "Static Text Resource", mime = "text/plain",
  text = "This is the content of the static text resource.",
}
mcp.resource {
  uri = "test://static-binary", name = "Static Binary Resource", mime = "image/png",
  handler = function() return { bytes = PNG } end,
}
mcp.resource {
  uri = "test://watched-resource", name = "Watched Resource", mime = "text/plain", text = "watched",
}
mcp.resource {
  uri = "test://template/{id}/data", name = "Resource Template", mime = "application/json",
  handler = function(_, _, parameters)
    return ('{"id":"%s","templateTest":true,"data":"Data for ID: %s"}'):format(parameters.id,
      parameters.id)
  end,
}

mcp.prompt {
  name = "test_simple_prompt", description = "A simple prompt",
  handler = function() return "This is a simple prompt for testing." end,
}
mcp.prompt {
  name = "test_prompt_with_arguments", description = "A prompt with arguments",
  arguments = {
    { name = "arg1", required = true, values = { "paris", "park", "party" } },
    { name = "arg2", required = true },
  },
  handler = function(arguments)
    return ("Prompt with arguments: arg1='%s', arg2='%s'"):format(arguments.arg1, arguments.arg2)
  end,
}
mcp.prompt {
  name = "test_prompt_with_embedded_resource", description = "A prompt with a resource",
  arguments = { { name = "resourceUri", required = true } },
  handler = function(arguments)
    return {
      { content = { type = "resource", resource = {
        uri = arguments.resourceUri, mimeType = "text/plain", text = "Embedded resource content.",
      } } },
      "Please process the embedded resource above.",
    }
  end,
}
mcp.prompt {
  name = "test_prompt_with_image", description = "A prompt with an image",
  handler = function()
    return {
      { content = { type = "image", bytes = PNG, mimeType = "image/png" } },
      "Please analyze the image above.",
    }
  end,
}

return {}
