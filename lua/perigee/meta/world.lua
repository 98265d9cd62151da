---@meta
-- The world ---------------------------------------------------------------------------------

--- Entities, components and systems: `perigee.world`. docs/world.md is the guide.

--- A component's value: a plain table of data.
---@class perigee.Component
---@field [any] any

--- Entities, components and systems. An entity is a number, a component of it a plain table. Entities are made and
--- changed in handlers and systems; it is an error at the top level, which runs again at each reload.
---@class perigee.World
local World = {}

--- Declares a component, at the top level. If a value lacks fields, it gets them from the default. If a game declares one
--- component, it must declare all, so that a misspelt name is an error. A game that declares none may use any name.
---@param name string
---@param default? table
function World:component(name, default) end

--- Declares a system, at the top level. In each tick, after `on_tick`, `fn(entity, values ..., dt)` runs for each entity
--- that has these components; without components, `fn(dt)` runs once. `dt` is the seconds since the last tick.
---
--- Each system is a separate handler with its own `handler_budget`. Its commands take effect when it ends. If it fails, the next
--- system still runs. A system cannot wait; use `perigee.spawn`.
---@param name string
---@param components string[] At most 6.
---@param fn fun(...: any)
---@param options? perigee.SystemOptions
function World:system(name, components, fn, options) end

--- Makes an entity that has these components.
---@param components? table<string, perigee.Component> By name.
---@return integer? entity Nil when a million exist.
---@return string? message Reason of the failure.
function World:spawn(components) end

--- Ends an entity with all its components. Its number is never used again. The entity of a peer or a channel ends by
--- itself.
---@param entity integer
---@return boolean existed
function World:despawn(entity) end

--- Returns whether an entity exists.
---@param entity integer
---@return boolean
function World:exists(entity) end

--- Gives an entity a component, or another value of it, and returns the value.
---@param entity integer
---@param name string
---@param value? perigee.Component Default: the component's default, or {}.
---@return perigee.Component? value Nil when the entity is gone.
---@return string? message Reason of the failure.
function World:set(entity, name, value) end

--- Returns the value of an entity's component, or nil. The value is the component's table itself, which you may change in place.
---@param entity integer
---@param name string
---@return any value
function World:get(entity, name) end

--- Returns whether an entity has a component.
---@param entity integer
---@param name string
---@return boolean
function World:has(entity, name) end

--- Removes a component from an entity.
---@param entity integer
---@param name string
---@return boolean had_it
function World:remove(entity, name) end

--- Returns the one value of a component that belongs to no entity, such as the score. The first call makes it.
---@param name string
---@return any value
function World:singleton(name) end

--- Iterates over the entities that have all of these components: `for entity, position, health in ...`.
---
--- The world may change during the loop. No entity comes twice. The loop skips an entity that is despawned or loses a
--- component before the loop reaches it, and one that is spawned during the loop. An existing entity that gets a
--- missing component may come or not. If the handler waits in the loop, none of this is certain: collect the entities
--- first.
---@param ... string 1 to 16 names.
---@return fun(walk: any, entity?: integer): integer?, any, any, any, any, any
---@return any walk
function World:query(...) end

--- Returns how many entities have all of these components.
---@param ... string 1 to 16 names.
---@return integer
function World:count(...) end

--- The position of a system in the order of the tick. Without options, systems run in the order of their declarations.
---@class perigee.SystemOptions
---@field after? string|string[] Systems that run before it. An unknown name, or a cycle, is an error at load.
---@field before? string|string[] Systems that run after it.

--- The component `connection` of a peer's entity. The server updates it; games can only read it.
---@class perigee.Connection
---@field peer_id integer
---@field peer perigee.Peer
---@field connected boolean
---@field latency_ms? number Round trip of the last ping, in milliseconds. Nil once the peer is gone, like the next three fields.
---@field packets_sent? integer
---@field packets_received? integer
---@field last_activity? number Seconds since its last packet.

--- The component `channel` of the entity of a served channel, as of the last tick. Games can only read it.
---@class perigee.ChannelComponent
---@field channel_id integer
---@field name string
---@field is_system boolean False for the channels of plugins.

--- The singleton `network_stats`: counters of all connections since the start. Games can only read it.
---@class perigee.NetworkStats
---@field connections_active integer
---@field average_latency_ms number Mean round trip, in milliseconds, of the peers that have answered a ping.
---@field packets_sent integer
---@field packets_received integer
---@field bytes_sent integer
---@field bytes_received integer
