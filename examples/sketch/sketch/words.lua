-- The words, and the comparison of guesses with them.
local words = {
  list = {
    "airport", "anchor", "apple", "astronaut", "balloon", "banana", "bathtub", "bicycle", "book",
    "bridge", "broom", "butterfly", "cactus", "camel", "campfire", "candle", "carrot", "castle", "cat",
    "chair", "cheese", "chimney", "clown", "compass", "cookie", "crab", "crocodile", "crown", "dinosaur",
    "dolphin", "door", "dragon", "drum", "eagle", "elephant", "engine", "eye", "feather", "fire truck",
    "fish", "flag", "flower", "fork", "fountain", "frog", "garden", "ghost", "giraffe", "glasses",
    "guitar", "hammer", "hamster", "hat", "hedgehog", "helicopter", "honey", "horse", "hot dog", "house",
    "ice cream", "igloo", "island", "jellyfish", "kangaroo", "key", "king", "kite", "ladder", "lamp",
    "lemon", "lighthouse", "lion", "lobster", "magnet", "mermaid", "microphone", "mirror", "monkey",
    "moon", "mountain", "mouse", "mushroom", "nose", "octopus", "owl", "parachute", "parrot", "peacock",
    "penguin", "piano", "pillow", "pineapple", "pirate", "pizza", "pumpkin", "puzzle", "pyramid",
    "rabbit", "rainbow", "robot", "rocket", "roller coaster", "sailboat", "sandwich", "scarecrow",
    "scissors", "shark", "skeleton", "snail", "snowman", "spider", "spoon", "squirrel", "stairs",
    "strawberry", "submarine", "sunflower", "surfboard", "swing", "sword", "telescope", "tent",
    "thunderstorm", "tiger", "toothbrush", "tractor", "train", "treasure", "tree house", "trumpet",
    "turtle", "umbrella", "unicorn", "vampire", "violin", "volcano", "waterfall", "whale", "windmill",
    "witch",
  },
}

-- Returns the letters alone: "Ice-Cream " and "icecream" are the same.
local function letters(text)
  return (text:lower():gsub("[%s%p]+", ""))
end

function words.is_right(guess, word)
  return letters(guess) == letters(word)
end

-- Returns whether a line gives the word away: "two cats" contains "cat", and "location" does not.
function words.has(text, word)
  return (" " .. text:lower():gsub("[%s%p]+", " ")):find(" " .. word, 1, true) ~= nil
end

-- Returns whether one letter is wrong, missing or too much.
function words.is_close(guess, word)
  guess, word = letters(guess), letters(word)
  if #word < 4 or guess == word then return false end
  local at = 1
  while guess:byte(at) == word:byte(at) do at = at + 1 end
  local g, w = guess:sub(at + 1), word:sub(at + 1) -- the rest behind the first difference
  return g == w or g == word:sub(at) or guess:sub(at) == w
end

-- Returns three different words.
function words.three()
  local three, taken = {}, {}
  while #three < 3 do
    local word = words.list[math.random(#words.list)]
    if not taken[word] then table.insert(three, word) end
    taken[word] = true
  end
  return three
end

-- Returns the word with "_" for hidden letters; the keys of `shown` are the positions of the others.
function words.mask(word, shown)
  local at = 0
  return (word:gsub(".", function(letter)
    at = at + 1
    return (letter == " " or shown[at]) and letter or "_"
  end))
end

-- Shows one more letter at random, but always hides at least one.
function words.reveal(word, shown)
  local hidden = {}
  for at = 1, #word do
    if word:sub(at, at) ~= " " and not shown[at] then table.insert(hidden, at) end
  end
  if #hidden > 1 then shown[hidden[math.random(#hidden)]] = true end
end

return words
