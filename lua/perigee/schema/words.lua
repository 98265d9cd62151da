--- Bits in words of 32 bits, for dialects without a state that counts bits. The code fills a word by shifts
--- before it stores the word, and splits a word by shifts after it has loaded the word.

local floor = math.floor

local words = {}


--- Puts the bits of a leaf into the current word, and stores the word when it is full.
function words.put(self, leaf)
  local steps, shift = self.steps, leaf.at % 32
  local part = { value = steps.shift_left(leaf.value, shift) }
  self:emit(shift == 0 and steps.begin_word or steps.fill_word, part)
  if shift + leaf.bits >= 32 then
    self:emit(steps.store_word, { offset = floor(leaf.at / 32) * 4 })
    if shift + leaf.bits > 32 then
      self:emit(steps.begin_word, { value = steps.shift_right(leaf.value, 32 - shift) })
    end
  end
end


--- Stores the last word of a scope if it is not full.
function words.finish(self, scope)
  if scope.bit_count % 32 > 0 then
    self:emit(self.steps.store_word, { offset = floor(scope.bit_count / 32) * 4 })
  end
end


--- Returns a leaf's bits as a number from 0 to 2^bits - 1.
function words.take(self, leaf)
  local steps, shift, first = self.steps, leaf.at % 32, floor(leaf.at / 32) * 4
  leaf.m = leaf.type.kind == "optional" and self:fresh "m" or nil
  local value = self:value(leaf, "n")
  local function load_word(at)
    self:add(steps.load_word(at, math.min(4, leaf.scope.bit_bytes - at)))
  end
  if shift == 0 then
    load_word(first)
  end
  if shift + leaf.bits <= 32 then
    self:add(steps.low_bits(value, shift, leaf.bits))
  else
    self:emit(steps.keep_bits, { n = value, shift = shift })
    load_word(first + 4)
    self:add(steps.add_bits(value, 32 - shift, leaf.bits))
  end
end

return words
