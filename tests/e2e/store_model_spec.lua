--- The store beside a plain table: random handlers that read, write, run transactions, conflict, wait and
--- fail give the same answers on both, on each back end. PERIGEE_MODEL_SEED=N repeats a run,
--- PERIGEE_MODEL_STEPS=N makes it longer.
local cjson = require "cjson"
local postgres = require "tests.e2e.postgres"
local random = require "tests.random"
local server = require "tests.e2e.server"

local STEPS = tonumber(os.getenv "PERIGEE_MODEL_STEPS") or 500
local SEED = tonumber(os.getenv "PERIGEE_MODEL_SEED") or os.time()
local IDS, GROUPS, NUMBERS, STEPS_OF_A_HANDLER, LIMIT, ALL = 25, 4, 40, 8, 5, 1000
local HANDLERS = 20 -- of a request

local GAME = [[
  local perigee = require "perigee"
  local docs = perigee.store("model", { index = { "n", "g" } })
  local store, none = perigee.store, "none"
  local game = { on_message = {} }
  local DO = {}

  function DO.put(s) return docs:put(s.id, s.value) end
  function DO.delete(s) return docs:delete(s.id) end
  function DO.get(s)
    local value = docs:get(s.id)
    return value == nil and none or value
  end
  function DO.sleep() perigee.sleep(0) return true end
  function DO.commit() return store.commit() end
  function DO.update(s)
    return docs:update(s.id, function(value)
      value = value or { n = 0 }
      value.n = value.n + s.by
      return value
    end)
  end
  function DO.versions(s)
    local _, version = docs:get(s.id)
    local first = docs:put(s.id, s.value, { if_version = version or 0 }) ~= nil
    local _, _, code = docs:put(s.id, { n = -1 }, { if_version = version or 0 })
    return { first, code }
  end
  function DO.move(s)
    return store.transaction(function()
      local from, to = docs:get(s.id) or { n = 0 }, docs:get(s.other) or { n = 0 }
      from.n, to.n = from.n - s.by, to.n + s.by
      docs:put(s.id, from)
      docs:put(s.other, to)
      if s.fails then error "on purpose" end
      return docs:count { n = { ">=", 0 } }
    end)
  end
  function DO.find(s)
    local ids = {}
    for i, found in ipairs(docs:find(s.where, { order = s.order, limit = s.limit })) do
      ids[i] = { found.id, found.value }
    end
    return ids
  end
  function DO.count(s) return docs:count(s.where) end
  function DO.fail() error "on purpose" end
  -- Both transactions count at once, so one of them conflicts and runs again.
  function DO.race(s)
    local ended = 0
    for _ = 1, 3 do
      perigee.spawn(function()
        DO.update(s)
        ended = ended + 1
      end)
    end
    while ended < 3 do perigee.sleep(0) end
    return docs:get(s.id).n
  end

  -- Runs lists of steps, each as a handler of its own. Returns the results of each, and whether it succeeds.
  function game.on_message.run(peer, handlers)
    local answers = {}
    for i, steps in ipairs(handlers) do
      local results, is_over = {}, false
      perigee.spawn(function()
        for j, step in ipairs(steps) do
          local ok, result = pcall(DO[step.type], step)
          if not ok then
            is_over, answers[i] = true, { results, false }
            error(result, 0)
          end
          results[j] = result
        end
        is_over, answers[i] = true, { results, true }
      end)
      repeat perigee.sleep(0.001) until is_over
    end
    return answers
  end
  return game
]]

-- The plain table ------------------------------------------------------------------------------

local function copy(value)
  return value and cjson.decode(cjson.encode(value))
end

local Model = {}
Model.__index = Model

local function new_model()
  return setmetatable({ docs = {}, pending = {} }, Model)
end


-- Applies the handler's writes so far, as each wait does.
function Model:commit()
  for _, write in ipairs(self.pending) do self.docs[write.id] = write.value end
  self.pending = {}
end


function Model:matches(where)
  local list = {}
  for id, value in pairs(self.docs) do
    local matches = true
    for field, wanted in pairs(where) do
      if type(wanted) == "table" then
        matches = matches and value[field] ~= nil and value[field] >= wanted[2]
      else
        matches = matches and value[field] == wanted
      end
    end
    list[#list + 1] = matches and { id, value } or nil
  end
  return list
end

local DO = {}


function DO.put(model, s)
  table.insert(model.pending, { id = s.id, value = copy(s.value) })
  return true
end


function DO.delete(model, s)
  table.insert(model.pending, { id = s.id })
  return true
end


function DO.get(model, s)
  model:commit()
  return copy(model.docs[s.id]) or "none"
end


function DO.sleep(model)
  model:commit()
  return true
end

DO.commit = DO.sleep


function DO.update(model, s)
  model:commit()
  local value = model.docs[s.id] or { n = 0 }
  value.n = value.n + s.by
  model.docs[s.id] = value
  return copy(value)
end


function DO.versions(model, s)
  model:commit()
  model.docs[s.id] = copy(s.value)
  return { true, "Conflict" }
end


function DO.move(model, s)
  model:commit()
  if s.fails then return nil end
  for id, by in pairs { [s.id] = -s.by, [s.other] = s.by } do
    DO.update(model, { id = id, by = by })
  end
  return #model:matches { n = { ">=", 0 } }
end


function DO.find(model, s)
  model:commit()
  local list, ids = model:matches(s.where), {}
  local is_down = s.order == "-n"
  table.sort(list, function(a, b)
    if is_down then a, b = b, a end
    if a[2].n ~= b[2].n then return a[2].n < b[2].n end
    return a[1] < b[1]
  end)
  for i = 1, math.min(s.limit, #list) do ids[i] = copy(list[i]) end
  return ids
end


function DO.count(model, s)
  model:commit()
  return #model:matches(s.where)
end


function DO.race(model, s)
  local value
  for _ = 1, 3 do value = DO.update(model, s) end
  return value.n
end


function DO.fail()
  return nil
end

-- Steps ----------------------------------------------------------------------------------------

local TYPES = {
  "put", "put", "put", "put", "delete", "get", "get", "sleep", "commit", "update", "versions", "move", "move",
  "find", "find", "count", "fail", "race",
}

local function draw_step(draw)
  local step = { type = TYPES[draw(#TYPES)], id = "id" .. draw(IDS), by = draw(5) }
  if step.type == "put" or step.type == "versions" then
    step.value = { n = draw(NUMBERS) - NUMBERS / 2, g = "g" .. draw(GROUPS), text = ("é"):rep(draw(9)) }
  elseif step.type == "move" then
    step.other = "other" .. draw(IDS)
    step.fails = draw(6) == 1
  elseif step.type == "find" or step.type == "count" then
    step.where = draw(2) == 1 and { g = "g" .. draw(GROUPS) } or { n = { ">=", draw(NUMBERS) - NUMBERS / 2 } }
    step.order, step.limit = draw(2) == 1 and "n" or "-n", draw(LIMIT)
    if draw(5) == 1 then step.where, step.limit = { n = { ">=", -1e9 } }, ALL end
  end
  return step
end

local function draw_handler(draw)
  local steps = {}
  for i = 1, draw(STEPS_OF_A_HANDLER) do
    steps[i] = draw_step(draw)
    local last = steps[i]
    if last.type == "fail" or last.fails then break end
  end
  return steps
end

-- Returns the results of the steps, and whether the handler succeeds.
local function run(model, steps)
  local results = {}
  for i, step in ipairs(steps) do
    local result = DO[step.type](model, step)
    if result == nil then
      model.pending = {}
      return results, false
    end
    results[i] = result
  end
  model:commit()
  return results, true
end

-- Runs ------------------------------------------------------------------------------------------

local function compare(flags)
  local draw, model = random.from(SEED % 2147483646 + 1), new_model()
  local perigee = server.start { game = GAME, flags = flags }
  local ann, count = perigee:client "ann", 0
  while count < STEPS do
    local handlers, expected = {}, {}
    for i = 1, HANDLERS do
      handlers[i] = draw_handler(draw)
      expected[i] = { run(model, handlers[i]) }
      count = count + #handlers[i]
    end
    for i, answer in ipairs(ann:question(0, "run", handlers)) do
      assert.same(expected[i], answer,
        ("seed %d, up to step %d: %s"):format(SEED, count, cjson.encode(handlers[i])))
    end
  end
end

describe("the store and a plain table agree,", function()
  after_each(server.stop_all)

  print("store_model: PERIGEE_MODEL_SEED=" .. SEED)

  it("with SQLite", function() compare {} end)

  it("with SQLite without cache", function() compare { store_cache = 0 } end)

  it("in memory", function() compare { store = ":memory:" } end)

  it("with PostgreSQL", function()
    compare { store = postgres.start().place }
  end)
end)
