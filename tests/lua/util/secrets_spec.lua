-- Passwords and tokens in texts that people read.
local secrets = require "perigee.util.secrets"

describe("secrets.mask", function()
  local TOKEN = "p1." .. ("Ab9_-"):rep(28)

  for text, masked in pairs {
    ['{"name":"ada","password":"open sesame","n":1}'] = '{"name":"ada","password":"***","n":1}',
    ['{"password" : "a\\"b\\\\"} rest'] = '{"password" : "***"} rest',
    ['{"token":"' .. TOKEN .. '"}'] = '{"token":"***"}',
    ['x{"password":"cut off'] = 'x{"password":"***',
    ["HELLO \1" .. TOKEN .. "\2"] = "HELLO \1p1.***\2",
    ['{ name = "ada", password = "open sesame" }'] = '{ name = "ada", password = "***" }',
    ["*[password] = 'it\\'s me' }"] = "*[password] = '***' }",
    ['{ ["token"] = "' .. TOKEN .. '" }'] = '{ ["token"] = "***" }',
    ['{"do":"sign_in","device":"0123456789abcdef"}'] = '{"do":"sign_in","device":"***"}',
    ['{"jwt":"a.b.c","do":"link"}'] = '{"jwt":"***","do":"link"}',
    ['{"do":"sign_in","credentials":{"ticket":"t"}}'] = '{"do":"sign_in","credentials":***',
    ['{"device":"joystick","do":5}'] = '{"device":"joystick","do":5}',
    ['{"tokens":"3","my_password":"x"}'] = '{"tokens":"3","my_password":"x"}',
    ["plain"] = "plain", [""] = "",
  } do
    it("of " .. text:sub(1, 30), function() assert.equal(masked, secrets.mask(text)) end)
  end

  it("hides given texts as they stand", function()
    assert.equal("a ***, b ***", secrets.hide("a %d+, b %d+", { "%d+" }))
  end)
end)
