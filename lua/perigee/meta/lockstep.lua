---@meta
-- Lockstep ----------------------------------------------------------------------------------

--- Matches that clients simulate turn by turn: the settings of a kind, the arguments of its handlers,
--- `room.lockstep`, and `perigee.fixed`. docs/lockstep.md is the guide.

--- Settings of the matches of a room kind: its `lockstep`. All of it is optional, and sizes are numbers of bytes. After
--- a reload, new values apply to the running match too, except `hash_every`, `max_input` and `record`, which apply from
--- the next match on. A reload that removes `lockstep` ends the matches of the kind.
---@class perigee.LockstepSettings
---@field turn_rate? number Turns a second, 1 to 240. Default: 20.
---@field input_delay? integer Fewest turns from an input to its turn. Default: 2.
--- Most turns from an input to its turn, up to 60. The delay of each player follows the player's network, between `input_delay`
--- and this limit. Default: the number of turns in 0.6 s, at least 12 and at most 60.
---@field max_input_delay? integer
--- The effect of a missing input on a turn that is due. The turn waits ("wait"), continues with the player's last input
--- ("repeat"), or continues without an input ("empty"). Default: "wait".
---@field on_missing? "wait"|"repeat"|"empty"
--- Longest time in seconds that turns wait for one player, 0 to 60. Waiting uses this time up, and each second gives a
--- tenth of a second back. After a turn has waited for a player in vain, turns wait for it again only when one of its
--- inputs has come in time. Default: 1.
---@field wait_limit? number
--- Turns that are kept for players who come late, 100 to 1,000,000. Each turn counts as its own bytes and 32 more. A match keeps
--- at most 4 MiB, and 16 KiB while all matches together have 64 MiB. Default: 12000.
---@field history? integer
---@field players? integer Slots, 1 to 64. A member without a slot watches. Default: 8.
---@field start? integer Players with whom a match begins, at most `players`; 0: `room.lockstep:start` begins it. Default: 1.
---@field hash_every? integer Turns from hash to hash, 1 to 255. Default: 1.
---@field max_input? integer Bytes of one input, at most 4096; all players' inputs must fit into 48 KiB. Default: 256.
---@field snapshot_limit? integer Bytes of a state that is given to others, at most 4 MiB. Default: 1048576.
---@field record? string Folder within the game's folder for recordings of all matches, such as "recordings". Default: none.
---@field record_limit? integer Bytes of one recording, at most 1 GiB. Default: 16777216.

--- The match of a room, `room.lockstep`. Its commands take effect when the handler has ended.
---@class perigee.Lockstep
---@field turn integer The newest closed turn.
---@field seed integer Seed of 32 bits for the game's random numbers.
---@field match integer Number of the match, different for each.
---@field started boolean
---@field paused boolean
---@field speed number Factor of `turn_rate`; 1 unless `set_speed` changed it.
local Lockstep = {}

--- Begins the turns. A kind with `start = 0` needs this call; in other kinds, the turns then begin before enough
--- players have come.
function Lockstep:start() end

--- Stops closing turns, until `resume`.
function Lockstep:pause() end

--- Continues after `pause`.
function Lockstep:resume() end

--- Multiplies `turn_rate` by a factor.
---@param speed number From 0.1 to 8.
function Lockstep:set_speed(speed) end

--- Begins another match with the same players, at turn 1 and with another seed.
function Lockstep:restart() end

--- Makes a peer replace its state with the state of the others, as after a desync. For 5 seconds after a call, further calls for
--- this peer have no effect, because another member has to send its state each time.
---@param peer perigee.Peer
function Lockstep:resync(peer) end

--- Returns the members of the match, players and watchers, sorted by peer id.
---@return perigee.LockstepMember[]
function Lockstep:members() end

--- Returns the counters of the match.
---@return perigee.LockstepStats
function Lockstep:stats() end

--- An event of a turn: an input, or a change of the players.
---@class perigee.LockstepEntry
---@field slot integer The slot, from 0 up.
--- "input": the player's input. "missing": the input came too late. "repeated": the input came too late, and `data` is the input
--- of the turn before. "joined": the slot has a player from this turn on. "left": the slot has no player from this turn on.
---@field kind "input"|"missing"|"repeated"|"joined"|"left"
---@field data string Bytes of the input, or "".
---@field id? integer Of "joined": the peer's id.
---@field name? string Of "joined": the peer's name.

--- A difference between states, for `on_desync`. Each peer is reported once, until it has another state.
---@class perigee.DesyncReport
---@field turn integer The turn after which the states differ.
---@field peers perigee.Peer[] The peers whose state differs.
---@field hash? integer Hash of the majority.
---@field hashes table<perigee.Peer, integer> Hash of each peer.
---@field tie boolean Whether no majority exists. If so, `peers` has all peers.
---@field path? string Place in the state, if the clients have trees of hashes.
---@field text string All of this in words. The log has it too.

--- A member of a match.
---@class perigee.LockstepMember
---@field peer perigee.Peer
---@field slot? integer The member's place among the players; nil for a watcher.
---@field delay integer Number of turns between an input of the member and the turn that applies it.
---@field turn integer The newest turn that the member has simulated.
---@field absent boolean Whether turns close without waiting for the member's inputs.

--- Counters of a match.
---@class perigee.LockstepStats
---@field turn integer The newest closed turn.
---@field stalls integer Turns that closed late.
---@field stalled number Sum of the delays of late turns, in seconds.
---@field longest_stall number Seconds of the longest stall.
---@field late_inputs integer Inputs that came after their turn had closed.
---@field desyncs integer Reports of differing states.
---@field kept_bytes integer Bytes of the kept turns, with 32 more for each turn.

--- Arithmetic that has the same results on every machine, and the same results as `fixed` of lockstep.js. A fixed-point number is
--- an integer of 32 bits that counts 65536ths: add and subtract with `+` and `-`. Angles are in turns.
---@class perigee.Fixed
---@field ONE integer 65536, the fixed-point number 1.
local fixed = {}

--- Returns the nearest fixed-point number. Use it for constants, and not for numbers that were computed with
--- fractions, because these may differ between machines.
---@param number number From -32768 to 32767.
---@return integer
function fixed.from(number) end

--- Returns a fixed-point number as a number with a fraction.
---@param a integer
---@return number
function fixed.number(a) end

--- Returns the product, rounded down. A product that does not fit into 32 bits wraps round.
---@param a integer
---@param b integer
---@return integer
function fixed.mul(a, b) end

--- Returns the quotient, rounded down; 0 if b is 0.
---@param a integer
---@param b integer
---@return integer
function fixed.div(a, b) end

--- Returns the square root, rounded down; 0 for negative numbers.
---@param a integer
---@return integer
function fixed.sqrt(a) end

--- Returns the sine of an angle in turns; 65536 is one whole turn.
---@param turns integer
---@return integer
function fixed.sin(turns) end

--- Returns the cosine of an angle in turns.
---@param turns integer
---@return integer
function fixed.cos(turns) end

--- Returns the angle of a direction, in turns from 0 to 65535; 0 if x and y are 0.
---@param y integer
---@param x integer
---@return integer
function fixed.atan2(y, x) end

--- Returns the number after `state` in a sequence of random numbers from 1 to 4294967295. Begin with the match's seed.
---@param state integer
---@return integer
function fixed.random(state) end
