-- Fails if the code has more of this project's own terms, more sentences that readers have to read twice, or
-- more long lines than scripts/goals.lua allows. Run from the root: luajit scripts/words.lua [--report]
package.path = "scripts/?.lua;" .. package.path
local ledger = require "goals"
local prose = require "prose"

local CODE = "find src include lua -name '*.[ch]' -o -name '*.lua' | sort"
local PROSE = "find src include lua clients tests examples scripts docs *.md "
  .. "\\( -name node_modules -o -name corpus -o -name schema_outputs \\) -prune -o -type f "
  .. "\\( -name '*.[ch]' -o -name '*.lua' -o -name '*.[jt]s' -o -name '*.cs' -o -name '*.md' \\) "
  .. "-print | sort"
local COLUMNS = 100

-- Each row: our own word (also as a part of names), the usual word, and a pattern of the paths that count.
local TERMS = {
  { "servicer", "io thread" }, { "stand%-in", "proxy" }, { "stub", "proxy" },
  { "alarm", "interrupt" }, { "probation", "rollback window" }, { "the way back", "rollback" },
  { "traversal", "next_workaround" },
  { "loose", "unreliable" }, { "lossy", "unreliable" }, { "loop turn", "iteration" },
  { "turn of the loop", "iteration" }, { "visitor", "unidentified connection", "^src/" },
  { "told", "notify, report, log" }, { "account_", "counters", "^src/net/" }, { "stamp", "sequence" },
  { "announce", "notify" },
}

-- Words with which a sentence must not begin, unless it is a question.
local HEADS = { "What", "Who", "Whoever", "Whatever", "Whichever", "Whose", "Whom" }

-- Patterns that must not occur anywhere in a sentence, and their replacements.
local PATTERNS = {
  { "%f[%a][iwab][sare]+e? told%f[%A]", "the subject that reports, logs or notifies" },
  { "%f[%a]is there%f[%A]", "exists" }, { "%f[%a]are there%f[%A]", "exist" },
  { "%f[%a]by and by%f[%A]", "how fast" }, { "%f[%a]anew%f[%A]", "again" },
  { "%f[%a][Nn]obody is%f[%A]", "what is so" }, { "%f[%a][Nn]obody has%f[%A]", "what is so" },
  { "%f[%a][Hh]e%f[%A]", "it, or you" }, { "%f[%a][Hh]is%f[%A]", "its, or your" },
  { "%f[%a][Hh]im%f[%A]", "it, or you" }, { "%f[%a]stands? in for%f[%A]", "replaces" },
}

local counts, examples = {}, {}

-- Counts the lines of a file that have a term.
local function count_lines(path, text, term)
  local line_number, pattern = 0, "%f[%a]" .. term
  for line in text:gmatch "([^\n]*)\n?" do
    line_number = line_number + 1
    if line:find(pattern) then
      counts[term] = (counts[term] or 0) + 1
      examples[term] = examples[term] or path .. ":" .. line_number
    end
  end
end

for path in io.popen(CODE):lines() do
  local file = assert(io.open(path))
  local text = file:read("*a"):lower()
  file:close()
  for _, term in ipairs(TERMS) do
    -- Few files have a term, and finding none in a whole file is fast.
    if path:find(term[3] or "") and text:find(term[1]) then count_lines(path, text, term[1]) end
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

local sentences, long, by_folder = {}, {}, {}

local function fault_of(sentence)
  for _, head in ipairs(HEADS) do
    if sentence:find("^" .. head .. "%f[^%a]") and not sentence:find "%?$" then return "a subject" end
  end
  if sentence:find "%?$" then return nil end
  for _, pattern in ipairs(PATTERNS) do
    if sentence:find(pattern[1]) then return pattern[2] end
  end
end

-- Returns the number of columns of a line of UTF-8.
local function columns_of(line) return #line:gsub("[\128-\191]", "") end

-- Finds long lines in C's comments and in the prose of Markdown, unless a line has no place to break.
local function find_long(path)
  local is_page, is_code, line_number = path:find "%.md$", false, 0
  for line in io.lines(path) do
    line_number = line_number + 1
    if is_page and line:find "^%s*```" then is_code = not is_code end
    local is_text = is_page and not is_code and not line:find "^%s*|" and not line:find "^    "
      or not is_page and line:find "//"
    local is_long = columns_of(line) > COLUMNS and line:sub(1, COLUMNS):find "%S%s+%S+%s+%S"
    if is_text and is_long and not line:find "://" then
      table.insert(long, ("%s:%d: %d columns"):format(path, line_number, columns_of(line)))
    end
  end
end

for path in io.popen(PROSE):lines() do
  prose.sentences(path, function(sentence, line)
    local fault = fault_of(sentence)
    if not fault then return end
    local folder = path:match "^src/%w+" or path:match "^%w+"
    by_folder[folder] = (by_folder[folder] or 0) + 1
    table.insert(sentences, ("%s:%d: %s  (write: %s)"):format(path, line, sentence, fault))
  end)
  if path:find "^src/" or path:find "^docs/" or path:find "^[%w]+%.md$" then find_long(path) end
end
for folder, count in pairs(by_folder) do table.insert(sentences, 1, ("%s: %d"):format(folder, count)) end
local faults = 0
for _, count in pairs(by_folder) do faults = faults + count end

ledger.note("own_terms", #terms, terms)
ledger.note("sentences", faults, sentences)
ledger.note("long_lines", #long, long)
os.exit(ledger.finish() == 0 and 0 or 1)
