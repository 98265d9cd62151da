local helper = require "spec.helper"
local words = require "sketch.words"

describe("guesses", function()
  local server, word, name, ann, bob, cid

  before_each(function()
    server = helper.server("", false)
    word, name, ann, bob, cid = helper.drawing(server)
  end)

  it("that are right are hidden from the others, whatever their letters", function()
    bob:send("say", " " .. word:upper():gsub(" ", "-") .. "!")
    cid.client:expect("said", { tone = "right", text = "bob knows the word!" })
    cid.client:expect_nothing("said", { tone = "guess" })
    bob.client:expect("you", { word = word })
    for _, said in ipairs(cid.client:received "said") do assert.is_false(words.has(said.text, word)) end
  end)

  it("are worth more the sooner they come, and the drawer gets a share", function()
    server:advance(6)
    bob:send("say", word)
    server:advance(30)
    cid:send("say", word)
    local table = ann.client:expect("table", { phase = "pause" })
    local drawer, first, second = unpack(table.players)
    assert.equal(275, first.gained)
    assert.equal(150, second.gained)
    assert.equal(math.floor(275 / 3) + 50, drawer.gained)
    assert.equal(first.gained, first.score)
  end)

  it("that are wrong are seen by all, and close ones are told so", function()
    bob:send("say", "zebra")
    cid.client:expect("said", { tone = "guess", by = "bob", text = "zebra" })
    local close = word:sub(1, -2) .. "0"
    bob:send("say", close)
    cid.client:expect("said", { tone = "guess", text = close })
    if words.is_close(close, word) then bob.client:expect("said", { tone = "close" }) end
    cid.client:expect_nothing("said", { tone = "close" })
  end)

  it("do not give the word away", function()
    bob:send("say", "is it a " .. word .. "?")
    bob.client:expect("said", { tone = "close", text = "That would give the word away." })
    ann:send("say", "it is a " .. word)
    ann.client:expect("said", { tone = "knowing" })
    cid.client:expect_nothing "said"
    bob:send("say", word)
    bob:send("say", "easy, that " .. word)
    ann.client:expect("said", { tone = "knowing", by = "bob" })
    assert.equal(1, #cid.client:received "said")
  end)

  it("are limited, so that nobody tries the whole list", function()
    for i = 1, 20 do bob:send("say", "guess " .. i) end
    bob.client:expect("said", { text = "not so fast" })
    assert.equal(6, #cid.client:received "said")
    assert.equal("drawing", server:room(name).state.phase)
  end)
end)

describe("words", function()
  it("are given away by lines that have them", function()
    for _, line in ipairs { "it is a cat", "Cats!", "a cat-fish", "CAT" } do
      assert.is_true(words.has(line, "cat"), line)
    end
    for _, line in ipairs { "location", "act", "" } do assert.is_false(words.has(line, "cat"), line) end
    assert.is_true(words.has("some ice-cream?", "ice cream"))
  end)

  it("are close if one letter is wrong, missing or too much", function()
    for _, guess in ipairs { "gitar", "guittar", "guitxr", "Guita", "guitarr" } do
      assert.is_true(words.is_close(guess, "guitar"), guess)
    end
    for _, guess in ipairs { "guitar", "gtar", "violin", "", "guxtxr" } do
      assert.is_false(words.is_close(guess, "guitar"), guess)
    end
    assert.is_false(words.is_close("cot", "cat"))
  end)
end)
