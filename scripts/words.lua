-- Fails where there are more words that only this project uses, or more sentences without a subject, than
-- scripts/goals.lua allows. Run from the root: luajit scripts/words.lua [--report]
package.path = "scripts/?.lua;" .. package.path
local ledger = require "goals"

-- Ours, as words and as parts of names; the field's; and the paths in which it is ours.
local TERMS = {
  { "servicer", "io thread" }, { "stand%-in", "proxy" }, { "stub", "proxy" },
  { "alarm", "interrupt" }, { "probation", "rollback window" }, { "the way back", "rollback" },
  { "traversal", "next_workaround" },
  { "loose", "unreliable" }, { "lossy", "unreliable" }, { "loop turn", "iteration" },
  { "turn of the loop", "iteration" }, { "visitor", "unidentified connection", "^src/" },
  { "told", "notify, report, log" }, { "account_", "counters" }, { "stamp", "sequence" },
  { "announce", "notify" },
}

-- Of comments; the first two begin with what should be a subject.
local PATTERNS = {
  "^%W*Wh[ao]t?e?v?e?r? ", "[.;] Wh[ao]t?e?v?e?r? ", "%f[%a]is told%f[%A]", "%f[%a]are told%f[%A]",
  "%f[%a]is there%f[%A]", "%f[%a]are there%f[%A]", "by and by", "%f[%a]anew%f[%A]", "[Nn]obody is",
}

local counts, examples, sentences = {}, {}, {}

local function look_at(path, line, line_number)
  local lower = line:lower()
  for _, term in ipairs(TERMS) do
    if lower:find("%f[%a]" .. term[1]) and path:find(term[3] or "") then
      counts[term[1]] = (counts[term[1]] or 0) + 1
      examples[term[1]] = examples[term[1]] or path .. ":" .. line_number
    end
  end
  local comment = path:find "%.lua$" and line:match "%-%-+%s*(.*)" or line:match "///?%s*(.*)"
  for _, pattern in ipairs(comment and PATTERNS or {}) do
    if comment:find(pattern) then
      return table.insert(sentences, ("%s:%d: %s"):format(path, line_number, comment))
    end
  end
end

for path in io.popen("find src include lua -name '*.[ch]' -o -name '*.lua' | sort"):lines() do
  local line_number = 0
  for line in io.lines(path) do
    line_number = line_number + 1
    look_at(path, line, line_number)
  end
end

local terms = {}
for _, term in ipairs(TERMS) do
  local count = counts[term[1]]
  if count then
    table.insert(terms, ("%s (write: %s): %d lines, the first in %s"):format(term[1], term[2], count,
      examples[term[1]]))
  end
end
ledger.note("own_terms", #terms, terms)
ledger.note("sentences", #sentences, sentences)
os.exit(ledger.finish() == 0 and 0 or 1)
