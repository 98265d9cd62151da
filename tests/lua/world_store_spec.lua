--- Compares entities, components and queries (perigee.world.store, .query) with a simple model, and measures
--- the garbage that queries make.
local fake_core = require "tests.lua.fake_core"
local garbage = require "tests.lua.garbage"
local random_numbers = require "tests.random"

local SEEDS = tonumber(os.getenv "SEEDS") or 10
local STEPS = 1500
local NAMES = { "a", "b", "c", "d" }

local core, store, query

local function fresh()
  core = fake_core.new()
  store, query = require "perigee.world.store", require "perigee.world.query"
end

-- Ends a handler, so that its changes take effect.
local function end_handler()
  core.commit()
end

local function plan(names)
  local sets = {}
  for i, name in ipairs(names) do
    sets[i] = store.set(name)
  end
  return query.plan(sets)
end

-- Returns a model: tables of entities and their components.
local function new_model()
  return { values = {}, list = {}, ever = {} }
end

local function matching(model, names)
  local found = {}
  for entity, values in pairs(model.values) do
    local has_all = true
    for _, name in ipairs(names) do
      has_all = has_all and values[name] ~= nil
    end
    found[entity] = has_all or nil
  end
  return found
end

local function size(set)
  local count = 0
  for _ in pairs(set) do
    count = count + 1
  end
  return count
end

-- The operations that one step may apply to both worlds.
local OPERATIONS = {}

function OPERATIONS.spawn(model)
  local entity = store.create()
  assert.is_nil(model.ever[entity], "an entity's number came again")
  model.ever[entity], model.values[entity] = true, {}
  model.list[#model.list + 1] = entity
end

function OPERATIONS.despawn(model, random)
  local entity = model.list[random(#model.list)]
  if model.values[entity] then
    store.destroy(entity)
    model.values[entity] = nil
  end
end

function OPERATIONS.set(model, random)
  local entity, name = model.list[random(#model.list)], NAMES[random(#NAMES)]
  if model.values[entity] then
    local value = { n = random(1000) }
    store.put(store.set(name), entity, value)
    model.values[entity][name] = value
  end
end

function OPERATIONS.remove(model, random)
  local entity, name = model.list[random(#model.list)], NAMES[random(#NAMES)]
  if model.values[entity] then
    assert.equal(model.values[entity][name] ~= nil, store.take(store.set(name), entity))
    model.values[entity][name] = nil
  end
end

-- A kind of change is more frequent if it is listed more often.
local KINDS = { "spawn", "despawn", "set", "set", "set", "set", "remove", "remove" }

local function change(model, random)
  local kind = #model.list == 0 and "spawn" or KINDS[random(#KINDS)]
  OPERATIONS[kind](model, random)
end

local function some_names(random)
  local names, first, count = {}, random(#NAMES), random(#NAMES)
  for i = 1, count do
    names[i] = NAMES[(first + i) % #NAMES + 1]
  end
  return names
end

local function check_values(model, names, entity, ...)
  assert.equal(#names, select("#", ...))
  for i, name in ipairs(names) do
    assert.equal(model.values[entity][name], (select(i, ...)))
  end
end

-- Checks a query during which the world does not change: it returns all matching entities, each once.
local function check_query(model, names)
  local wanted, seen = matching(model, names), {}
  local step, walk = query.begin(plan(names))
  local function take(entity, ...)
    if entity then
      assert.is_nil(seen[entity])
      seen[entity] = true
      check_values(model, names, entity, ...)
      return entity
    end
  end
  local entity
  repeat
    entity = take(step(walk, entity))
  until not entity
  assert.same(wanted, seen)
  assert.equal(size(wanted), query.count(plan(names)))
end

-- Checks a query during which the world changes. It returns no entity twice and none that was made meanwhile,
-- and it returns every entity that matches all the time.
local function check_changing_query(model, names, random)
  local before, was_touched, seen = matching(model, names), {}, {}
  local there, changes = matching(model, {}), 0
  for entity in query.begin(plan(names)) do
    assert.is_nil(seen[entity], "an entity was met twice")
    assert.is_true(there[entity], "an entity was met that was made meanwhile")
    assert.is_true(matching(model, names)[entity], "an entity was met that has not got it any more")
    seen[entity] = true
    if random(20) == 1 then
      check_query(model, names) -- the same query again, within the loop
    end
    for _ = 1, changes < 200 and random(4) - 1 or 0 do
      changes = changes + 1
      change(model, random)
      for other in pairs(before) do
        was_touched[other] = was_touched[other] or not matching(model, names)[other]
      end
    end
  end
  for entity in pairs(before) do
    assert.is_true(seen[entity] or was_touched[entity], "an entity was left out")
  end
end

local function check_all(model)
  local count = 0
  for entity in store.each() do
    count = count + 1
    assert.truthy(model.values[entity])
    for _, name in ipairs(NAMES) do
      assert.equal(model.values[entity][name], store.get(store.set(name), entity))
    end
  end
  assert.equal(size(model.values), count)
  assert.equal(count, store.count())
  for _, entity in ipairs(model.list) do
    assert.equal(model.values[entity] ~= nil, store.exists(entity))
    assert.is_true(model.values[entity] ~= nil or store.get(store.set "a", entity) == nil)
  end
end

describe("the world's store", function()
  after_each(fake_core.clean)

  for seed = 1, SEEDS do
    it("does what a plain model does, seed " .. seed, function()
      fresh()
      local model, random = new_model(), random_numbers.from(seed)
      for step = 1, STEPS do
        change(model, random)
        if random(30) == 1 then
          check_query(model, some_names(random))
        elseif random(60) == 1 then
          check_changing_query(model, some_names(random), random)
        elseif random(5) == 1 then
          end_handler()
        end
        if step % 300 == 0 then
          check_all(model)
        end
      end
      check_all(model)
    end)
  end

  it("tidies up behind entities that come and go", function()
    fresh()
    local set = store.set "a"
    local highest, longest = 0, 0
    for round = 1, 20000 do
      local entity = store.create()
      store.put(set, entity, {})
      store.destroy(entity)
      highest, longest = math.max(highest, entity % 2 ^ 20), math.max(longest, set.size)
      if round % 10 == 0 then
        end_handler()
      end
    end
    assert.is_true(highest < 1000 and longest < 1000, highest .. " places, " .. longest .. " entries")
  end)

  it("stops at a million entities, and goes on when one is gone", function()
    fresh()
    local first = store.create()
    for _ = 2, store.MOST do
      store.create()
    end
    assert.is_nil(store.create())
    store.destroy(first)
    for _ = 1, 300 do -- until the store tidies its lists, which frees entities
      store.destroy(store.count())
    end
    end_handler()
    assert.truthy(store.create())
  end)

  it("passes over most entities of a large set as well", function()
    fresh()
    local few, many = store.set "few", store.set "many"
    for i = 1, 5000 do
      local entity = store.create()
      store.put(many, entity, { i = i })
      if i % 1000 == 0 then
        store.put(few, entity, {})
      end
    end
    local seen = {}
    for _, value in query.begin(plan { "many", "few" }) do
      seen[#seen + 1] = value.i
    end
    assert.same({ 5000, 4000, 3000, 2000, 1000 }, seen)
  end)
end)

describe("a query", function()
  -- Makes entities with `a`, each of which has its number in `n`.
  local function fill(count)
    for i = 1, count do
      store.put(store.set "a", store.create(), { n = i })
    end
  end

  -- Destroys an entity and many others, as other handlers do while a handler waits, so the lists are tidied.
  local function destroy_many(entity, count)
    local gone = { entity }
    for other in query.begin(plan { "a" }) do
      if other ~= entity and #gone < count then
        gone[#gone + 1] = other
      end
    end
    for _, one in ipairs(gone) do
      store.destroy(one)
    end
    end_handler()
    query.begin(plan { "a" })
    end_handler()
  end

  it("that has waited meets no entity twice, and comes to an end, though its place is another's", function()
    fresh()
    fill(1000)
    local seen, met = {}, 0
    for entity, value in query.begin(plan { "a" }) do
      assert.is_nil(seen[entity])
      seen[entity], met = true, met + 1
      assert.is_true(met <= 1000)
      if value.n % 100 == 0 then
        destroy_many(entity, 600)
        fill(600)
      end
    end
  end)

  it("that has waited comes to an end, too, when the list has become shorter than where it was", function()
    fresh()
    fill(3000)
    local met = 0
    for entity in query.begin(plan { "a" }) do
      met = met + 1
      if met == 1 then
        destroy_many(entity, 1000)
        destroy_many(store.create(), 1990)
      end
    end
    assert.is_true(met <= 12, met)
  end)

  it("makes no garbage, whether it is left or goes through", function()
    fresh()
    local plans = {}
    for i = 1, 1000 do
      local entity = store.create()
      for j, name in ipairs(NAMES) do
        if i % j == 0 then
          store.put(store.set(name), entity, { n = i })
        end
      end
    end
    for count = 1, #NAMES do
      plans[count] = plan { unpack(NAMES, 1, count) }
    end
    local function round()
      for count = 1, #NAMES do
        for _, value in query.begin(plans[count]) do
          value.n = value.n + 1
        end
        local step, walk = query.begin(plans[count]) -- does the same as a loop that ends at once
        step(walk)
      end
    end
    local made = garbage.of(round)
    assert.is_true(made < 32, made .. " KB")
  end)
end)
