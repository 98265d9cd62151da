-- The measures of sources and docs, with their goals and limits. `allowed` is the limit until the goal is
-- reached: each improvement lowers it, and at the goal it is removed. `before` is the figure, if known, at
-- the time when the goal was set.
local goals = {
  -- scripts/layers.lua
  cycle_net = { what = "files of net in one call cycle", before = 30, goal = 3 },
  cycle_relay = { what = "files of relay in one call cycle", goal = 3 },
  cycle_session = { what = "files of session in one call cycle", goal = 3 },
  upward_pairs = {
    what = "pairs of files of net of which one uses the other upwards", before = 134, goal = 9,
  },
  core_branches = {
    what = "ifs in the core of net about what a connection is", before = 35, goal = 0,
  },
  core_calls = {
    what = "functions that the core of net calls in its users", before = 61, goal = 0,
  },
  table_includes = {
    what = "includes in net of headers that are their folders' alone", goal = 0,
  },
  thread_words = {
    what = "lines about threads in files that are not", before = 72, goal = 0,
  },
  byte_entries = {
    what = "places where a received byte enters the core", before = 4, goal = 1,
  },
  close_steps = { what = "functions from conn_close to the end of a connection", goal = 40 },
  close_files = { what = "files that have them", goal = 8 },
  -- scripts/sizes.lua
  http_machines = { what = "state machines of HTTP connections", before = 2, goal = 1 },
  short_statics = {
    what = "static functions of 8 lines or fewer with one call", before = 413, goal = 199,
  },
  conn_fields = { what = "fields of Conn", before = 49, goal = 24 },
  conn_flags = { what = "flags of Conn", before = 13, goal = 5 },
  lua_root_files = { what = "files in the root of lua/perigee", before = 58, goal = 11 },
  -- Has no limit, because features add lines.
  lines = { what = "lines of src and lua without embedding and the control API", before = 73096 },
  -- scripts/words.lua
  own_terms = { what = "terms that only this project uses", before = 25, goal = 0 },
  sentences = { what = "sentences without a subject, and the like", goal = 0 },
  long_lines = {
    what = "lines of more than 100 columns in docs and comments of src", goal = 0,
  },
}

-- Goals that these scripts do not measure.
local ELSEWHERE = {
  "implementations of the client protocol: 2 (of the clients)",
  "lockstep engines for clients: 2 (of the clients)",
  "schema generators: 1 with a dialect for each language (by reading lua/perigee/schema)",
  "sentences that a reader has to read twice (by review; scripts/words.lua finds patterns alone)",
}

local figures, order = {}, {}
local is_report = false
for _, argument in ipairs(arg or {}) do is_report = is_report or argument == "--report" end

local ledger = { is_report = is_report }


--- Records a figure, and the details of it for the report.
--- @param name string
--- @param value integer
--- @param details? string[]
function ledger.note(name, value, details)
  assert(goals[name], name)
  figures[name] = { value = value, details = details or {} }
  order[#order + 1] = name
end


-- Returns whether a figure is a fault, or allows a lower limit; nil: neither.
local function judge(goal, value)
  if not goal.goal then return end
  local limit = math.max(goal.allowed or goal.goal, goal.goal)
  if value > limit then return "fault", limit end
  if goal.allowed and value < goal.allowed then return "lower", limit end
end


local function print_report()
  print(("%-64s %7s %7s %7s %7s"):format("", "before", "now", "goal", "allowed"))
  for _, name in ipairs(order) do
    local goal, figure = goals[name], figures[name]
    print(("%-64s %7s %7d %7s %7s"):format(goal.what, goal.before or "-", figure.value,
      goal.goal or "-", goal.allowed or "-"))
    for _, line in ipairs(figure.details) do print("    " .. line) end
  end
end


--- Prints the report, or the faults.
--- @return integer faults
function ledger.finish()
  if is_report then print_report() end
  local faults = 0
  for _, name in ipairs(order) do
    local goal, value = goals[name], figures[name].value
    local verdict, limit = judge(goal, value)
    if verdict == "fault" then
      faults = faults + 1
      print(("%s: %d, and %d are allowed (goal: %d); --report has them"):format(goal.what, value, limit,
        goal.goal))
    elseif verdict == "lower" and not is_report then
      print(("%s: %d; lower `allowed` in scripts/goals.lua"):format(goal.what, value))
    end
  end
  return faults
end


--- Prints the goals that no script measures, if a report is wanted.
function ledger.print_elsewhere()
  if not is_report then return end
  print "not measured here:"
  for _, line in ipairs(ELSEWHERE) do print("    " .. line) end
end

return ledger
