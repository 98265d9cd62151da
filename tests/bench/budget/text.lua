-- Parses commands and makes answers.
local LINES = {
  "move 12 7", "say hello there, all of you", "buy potion 3", "attack goblin", "look", "rename Ann",
}

local commands = {}

function commands.move(words)
  return ("moved to %d, %d"):format(tonumber(words[2]), tonumber(words[3]))
end

function commands.say(words)
  return "says: " .. table.concat(words, " ", 2):upper()
end

function commands.buy(words)
  return "bought " .. words[3] .. " of " .. words[2]:sub(1, 3)
end

local function split(line)
  local words = {}
  for word in line:gmatch "%S+" do
    words[#words + 1] = word
  end
  return words
end

local function answer(line)
  local words = split(line)
  local command = commands[words[1]]
  if not command then
    return ("there is no %q"):format(words[1])
  end
  return command(words)
end

return function()
  local size = 0
  for _ = 1, 5000 do
    for _, line in ipairs(LINES) do
      size = size + #answer(line)
    end
  end
  return size
end
