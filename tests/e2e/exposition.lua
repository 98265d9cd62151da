--- Reads metrics as text, strictly: Prometheus 0.0.4 and OpenMetrics 1.0, from their specifications alone.
local exposition = {}

local IS_ENDING = {
  counter = { _total = true }, gauge = { [""] = true }, info = { _info = true },
  histogram = { _bucket = true, _sum = true, _count = true },
}

local function read_labels(text, line)
  local labels, at = {}, 1
  while at <= #text do
    local name, start = text:match('^([%a_][%w_]*)="()', at)
    assert(name and not labels[name], "labels: " .. line)
    local value = {}
    at = start
    while text:sub(at, at) ~= '"' do
      local char = text:sub(at, at)
      assert(char ~= "", "open quotes: " .. line)
      if char == "\\" then
        local escaped = text:sub(at, at + 1)
        char = assert(({ ["\\\\"] = "\\", ['\\"'] = '"', ["\\n"] = "\n" })[escaped], "escape: " .. line)
        at = at + 1
      end
      value[#value + 1], at = char, at + 1
    end
    labels[name], at = table.concat(value), at + 1
    if at <= #text then
      assert(text:sub(at, at) == ",", "labels: " .. line)
      at = at + 1
    end
  end
  return labels
end

local function key_of(labels, without)
  local parts = {}
  for name, value in pairs(labels) do
    if name ~= without then parts[#parts + 1] = ("%s=%q"):format(name, value) end
  end
  table.sort(parts)
  return table.concat(parts, ",")
end

-- Checks that the buckets grow and end with +Inf, and that the last one has the count of all samples.
local function check_histogram(family)
  local by_key = {}
  for _, sample in ipairs(family.samples) do
    local key = key_of(sample.labels, "le")
    local seen = by_key[key] or { last = -1, bound = -1 }
    by_key[key] = seen
    if sample.name:find "_bucket$" then
      local bound = tonumber((sample.labels.le:gsub("^%+Inf$", "inf")))
      assert(bound > seen.bound and sample.value >= seen.last, "buckets of " .. family.name)
      seen.bound, seen.last = bound, sample.value
    elseif sample.name:find "_count$" then
      assert(seen.bound == math.huge and sample.value == seen.last, "the count of " .. family.name)
    end
  end
end


--- Reads a page. Returns a table of families by name, without endings.
---@param text string
---@param is_open_metrics boolean
---@return table<string, { name: string, type: string, help: string, unit: string?, samples: table[] }>
function exposition.read(text, is_open_metrics)
  local families, family, seen = {}, nil, {}
  assert(text:sub(-1) == "\n")
  if is_open_metrics then text = assert(text:match "^(.*)# EOF\n$", "no EOF") end
  for line in text:gmatch "([^\n]*)\n" do
    local what, name, rest = line:match "^# (%u+) ([%a_:][%w_:]*) (.*)$"
    if what == "TYPE" then
      if not is_open_metrics then
        local base = name:match "^(.*)_info$"
        if rest == "counter" then base = assert(name:match "^(.*)_total$", name) end
        if not base or rest ~= "counter" then rest = base and "info" or rest end
        name = base or name
      end
      assert(not families[name], name)
      family = { name = name, type = rest, samples = {} }
      families[name] = family
    elseif what then
      assert(name:sub(1, #family.name) == family.name, line)
      family[what:lower()] = rest
    else
      local labels, value
      name, labels, value = line:match "^([%w_:]+){(.*)} (%S+)$"
      if not name then
        name, value = line:match "^([%w_:]+) (%S+)$"
      end
      assert(name and name:sub(1, #family.name) == family.name, "line: " .. line)
      assert(IS_ENDING[family.type][name:sub(#family.name + 1)], "ending: " .. line)
      labels = read_labels(labels or "", line)
      local sample = { name = name, labels = labels, value = assert(tonumber(value)) }
      local key = name .. "{" .. key_of(sample.labels)
      assert(not seen[key], "twice: " .. line)
      seen[key] = true
      table.insert(family.samples, sample)
    end
  end
  for name, read in pairs(families) do
    assert(read.help and #read.help > 5, name)
    if read.type == "histogram" then check_histogram(read) end
    if read.unit then assert(name:sub(-#read.unit - 1) == "_" .. read.unit, name) end
  end
  return families
end


--- Returns the value of the sample with exactly these labels, or nil.
function exposition.value(families, name, labels, ending)
  local family = assert(families[name], name)
  for _, sample in ipairs(family.samples) do
    local is_of_ending = not ending or sample.name == name .. ending
    if is_of_ending and key_of(sample.labels) == key_of(labels or {}) then return sample.value end
  end
end

return exposition
