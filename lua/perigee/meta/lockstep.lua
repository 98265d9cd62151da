---@meta
--- Lockstep, for editors: what a kind says of it, what its handlers get, `room.lockstep`, and
--- `perigee.fixed`. docs/lockstep.md is the guide.

-- Settings ----------------------------------------------------------------------------------

--- How matches of a room kind go: its `lockstep`. All of it is optional.
---@class perigee.LockstepSettings
---@field turn_rate? number Turns a second, 1 to 240. Default: 20.
---@field input_delay? integer Turns from an input to its turn, at least. Default: 2.
--- The same, at most, up to 60: it adapts to each player's network in between. Default: 0.6 s of turns, 12 to 60.
---@field max_input_delay? integer
--- What becomes of a turn for which an input is missing. Default: "wait".
---@field on_missing? "wait"|"repeat"|"empty"
---@field wait_limit? number Seconds that a turn waits, and that are waited for one player in ten times as long. Default: 1.
---@field history? integer Turns that are kept, for who comes late. Default: 12000.
---@field players? integer Slots, 1 to 64; who comes when all are taken watches. Default: 8.
---@field start? integer Players with whom a match begins; 0: `room.lockstep:start` begins it. Default: 1.
---@field hash_every? integer Turns from hash to hash. Default: 1.
---@field max_input? integer Bytes of one input. Default: 256.
---@field snapshot_limit? integer Bytes of a state that is given to others. Default: 1048576.
---@field record? string Folder in the game's own where each match is recorded, such as "recordings". Default: none.
---@field record_limit? integer Bytes of one recording, at most. Default: 16777216.

-- What handlers get -------------------------------------------------------------------------

--- What somebody does in a turn.
---@class perigee.LockstepEntry
---@field slot integer From 0 up.
--- "input": what the player of the slot gave. "missing": it came too late. "repeated": that of the turn
--- before stands for it. "joined", "left": the slot has a player from this turn on, or none.
---@field kind "input"|"missing"|"repeated"|"joined"|"left"
---@field data string The bytes of the input; "" where there are none.
---@field id? integer Of "joined": the peer's id.
---@field name? string Of "joined": its name.

--- Who has another state than most, for `on_desync`.
---@class perigee.DesyncReport
---@field turn integer After which the states differ.
---@field peers perigee.Peer[] Those whose state differs.
---@field hash? integer What most have.
---@field hashes table<perigee.Peer, integer> What each of them has.
---@field tie boolean Whether nobody is in the majority; then all are in `peers`.
---@field path? string Where in the state, if the clients have trees of hashes.
---@field text string All of that in words.

--- Somebody who takes part in a match.
---@class perigee.LockstepMember
---@field peer perigee.Peer
---@field slot? integer nil: only watches.
---@field delay integer Turns from its input to their turn.
---@field turn integer The newest that it has simulated.
---@field absent boolean Whether turns do not wait for it any more.

--- Figures of a match.
---@class perigee.LockstepStats
---@field turn integer The newest closed turn.
---@field stalls integer Turns that closed late.
---@field stalled number Seconds of that in all.
---@field longest_stall number Seconds.
---@field late_inputs integer Inputs that came after their turn had closed.
---@field desyncs integer Reports of differing states.
---@field kept_bytes integer Of turns that are kept, 32 for each of them included.

-- room.lockstep -----------------------------------------------------------------------------

--- The match of a room, where its kind has `lockstep`. What is asked for is done when the handler has ended.
---@class perigee.Lockstep
---@field turn integer The newest closed turn.
---@field seed integer Of 32 bits, for the game's chance.
---@field match integer Another number for each match.
---@field started boolean
---@field paused boolean
---@field speed number 1 as long as nobody has set another.
local Lockstep = {}

--- Begins the turns, where the kind says `start = 0`, or sooner than it says.
function Lockstep:start() end

--- No turn closes until `resume`.
function Lockstep:pause() end

--- Goes on after `pause`.
function Lockstep:resume() end

--- Goes so many times as fast as `turn_rate` says.
---@param speed number From 0.1 to 8.
function Lockstep:set_speed(speed) end

--- Begins another match with the same players: turn 1, another seed.
function Lockstep:restart() end

--- Has a peer take the state of the others in the place of its own, as after a desync.
---@param peer perigee.Peer
function Lockstep:resync(peer) end

--- Who plays and who watches, by peer id.
---@return perigee.LockstepMember[]
function Lockstep:members() end

--- Figures of the match.
---@return perigee.LockstepStats
function Lockstep:stats() end

-- perigee.fixed -----------------------------------------------------------------------------

--- Arithmetic that has the same results on every machine, and as `fixed` of lockstep.js. A number is a whole one
--- of 32 bits that counts 65536ths; adding and subtracting are `+` and `-`. Angles are in turns.
---@class perigee.Fixed
---@field ONE integer 65536, which is 1.
local fixed = {}

--- The nearest fixed-point number: for constants, not for what was computed with fractions.
---@param number number From -32768 to 32767.
---@return integer
function fixed.from(number) end

--- As a number with a fraction.
---@param a integer
---@return number
function fixed.number(a) end

--- The product, rounded down; what does not fit wraps round.
---@param a integer
---@param b integer
---@return integer
function fixed.mul(a, b) end

--- The quotient, rounded down; 0 where b is 0.
---@param a integer
---@param b integer
---@return integer
function fixed.div(a, b) end

--- The square root, rounded down; 0 of what is negative.
---@param a integer
---@return integer
function fixed.sqrt(a) end

--- The sine of an angle in turns: 65536 is a whole one.
---@param turns integer
---@return integer
function fixed.sin(turns) end

--- The cosine, likewise.
---@param turns integer
---@return integer
function fixed.cos(turns) end

--- The angle of a direction, in turns from 0 to 65535; 0 where both are 0.
---@param y integer
---@param x integer
---@return integer
function fixed.atan2(y, x) end

--- The next of a row of numbers that look like chance, from 1 to 4294967295. Begin with the match's seed.
---@param state integer
---@return integer
function fixed.random(state) end
