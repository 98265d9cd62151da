---@meta
--- Entities, components and systems, for editors: `perigee.world`, and the components that the
--- server keeps itself. docs/scripting.md is the guide.

--- A component's value: a plain table of data.
---@class perigee.Component
---@field [any] any

--- Of the entity of a peer, kept by the server; it can be read only.
---@class perigee.Connection
---@field peer_id integer
---@field peer perigee.Peer
---@field connected boolean
---@field latency_ms? number Milliseconds of the last ping; this and the next are nil when the peer is gone.
---@field packets_sent? integer
---@field packets_received? integer
---@field last_activity? number Seconds since it was last heard of.

--- Of the entity of a channel that is served, kept by the server; it can be read only.
---@class perigee.ChannelComponent
---@field channel_id integer
---@field name string
---@field is_system boolean False of those of plugins.

--- The singleton `network_stats`, kept by the server; it can be read only.
---@class perigee.NetworkStats
---@field connections_active integer
---@field average_latency_ms number Of the peers that have answered a ping.
---@field packets_sent integer
---@field packets_received integer
---@field bytes_sent integer
---@field bytes_received integer

--- When a system runs, among the others of its tick. Else they run as they are declared.
---@class perigee.SystemOptions
---@field after? string|string[] Systems that run before it.
---@field before? string|string[] Systems that run after it.

--- Entities, components and systems. An entity is a number, a component of it a plain table.
---@class perigee.World
local World = {}

--- Declares a component, at the top level; a game that declares one declares all of them. Values get from
--- the default what they leave out.
---@param name string
---@param default? table
function World:component(name, default) end

--- Declares a system, at the top level. In each tick `fn(entity, values ..., dt)` is called for each entity
--- with these components; `fn(dt)`, once, where there are none.
---@param name string
---@param components string[] 6 at most.
---@param fn fun(...: any)
---@param options? perigee.SystemOptions
function World:system(name, components, fn, options) end

--- Makes an entity that has these components.
---@param components? table<string, perigee.Component> By name.
---@return integer? entity
---@return string? message Why not.
function World:spawn(components) end

--- Ends an entity with all its components. One of a peer or a channel ends with that.
---@param entity integer
---@return boolean was_there
function World:despawn(entity) end

--- Whether an entity is there.
---@param entity integer
---@return boolean
function World:exists(entity) end

--- Gives an entity a component, or another value of it.
---@param entity integer
---@param name string
---@param value? perigee.Component Default: the component's default, or {}.
---@return perigee.Component? value Nil when the entity is gone.
---@return string? message
function World:set(entity, name, value) end

--- The value of an entity's component, or nil.
---@param entity integer
---@param name string
---@return any value
function World:get(entity, name) end

--- Whether an entity has a component.
---@param entity integer
---@param name string
---@return boolean
function World:has(entity, name) end

--- Takes a component from an entity.
---@param entity integer
---@param name string
---@return boolean had_it
function World:remove(entity, name) end

--- A component that is there once and belongs to no entity; made when first asked for.
---@param name string
---@return any value
function World:singleton(name) end

--- Iterates over the entities that have all of these components: `for entity, position, health in ...`.
---@param ... string 1 to 16 names.
---@return fun(walk: any, entity?: integer): integer?, any, any, any, any, any
---@return any walk
function World:query(...) end

--- How many entities have all of these components.
---@param ... string 1 to 16 names.
---@return integer
function World:count(...) end
