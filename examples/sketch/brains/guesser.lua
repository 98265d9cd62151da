-- A bot that guesses. It knows the list of words and the hint, but sees no picture, so people can beat it.
local words = require "sketch.words"

local guesser = {}

local EVERY = 6 -- seconds between its guesses, on average

-- Returns a word that fits the hint and that the bot has not tried yet.
local function choose(hint, tried)
  local pattern, fitting = "^" .. hint:gsub("_", "[^ ]") .. "$", {}
  for _, word in ipairs(words.list) do
    if word:find(pattern) and not tried[word] then table.insert(fitting, word) end
  end
  return fitting[math.random(#fitting)]
end

-- Handles a message to the bot, which gets the same messages as pages.
function guesser.on_message(bot, name, value)
  if name == "table" then
    if value.phase ~= "drawing" then bot.state.tried = {} end
    bot.state.hint = value.hint
  elseif name == "you" then
    bot.state.knows = value.word ~= nil
  elseif name == "said" and value.tone == "guess" then
    bot.state.tried[value.text:lower()] = true
  end
end

function guesser.on_tick(bot, dt)
  local state = bot.state
  if not state.hint or state.knows or math.random() > dt / EVERY then return end
  local word = choose(state.hint, state.tried)
  if word then bot:act("say", word) end
end

return guesser
