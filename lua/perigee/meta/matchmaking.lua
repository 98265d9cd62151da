---@meta
-- Matchmaking ---------------------------------------------------------------------------------

--- Queues of players who wait for a match: `perigee.matchmaker`. docs/matchmaking.md is the guide.

--- A number whose difference is limited between any two tickets of a match.
---@class perigee.MatchRange
---@field within number Largest difference at first.
---@field grow? number Increase of the difference for each whole second that a ticket has waited. Default: 0.
---@field max? number Largest difference that a ticket ever accepts. Default: any with `grow`, otherwise `within`.

--- How a queue makes matches. `players` or `roles` says how many players a match has.
---@class perigee.MatchmakerOptions
---@field room string Kind of the rooms: a match of the queue `ranked` with `room = "duel"` is in a room such as `duel:ranked1`.
---@field players? integer|integer[] Number of players, or the least and the most, such as `{ 2, 4 }`. At most 100.
---@field teams? integer Number of teams of equal size. Default: 1.
---@field roles? table<string, integer> Players with each role in a team, such as `{ tank = 1, healer = 1, damage = 3 }`.
--- Rules for the properties of the tickets of a match, by name: a range for numbers; `"same"`: equal values; `"any"`: lists
--- with an element in common; `"not_with"`: a list of peers and ids of accounts that cannot be in the match.
---@field match? table<string, perigee.MatchRange|"same"|"any"|"not_with">
---@field timeout? number Seconds after which a ticket ends. Default: never.
---@field fill? boolean Whether matches that have begun get players again when some have left. Default: false.
--- Seconds that the oldest ticket waits for a match with the most players before it accepts fewer. Default: 5; 0 with `fill`.
---@field patience? number
---@field penalty? number Seconds for which a player who did not come to a match cannot enter a queue. Default: 0.
--- Decides when a client asks to enter: returns the properties of its ticket, true to take those that the client has sent,
--- or nil and a reason to refuse.
---@field on_enter? async fun(peer: perigee.Peer, properties: table): table|boolean?, string?
--- Decides about a match before its room is made: returns false to keep these tickets apart until the next reload, or the
--- options that `on_create` gets. The server adds `match` to them.
---@field on_match? async fun(tickets: perigee.Ticket[]): table|boolean?

--- A player of a match.
---@class perigee.MatchMember
---@field id integer The peer's id.
---@field name string
---@field team integer From 1.
---@field role? string

--- A match, as `on_create` gets it in `options.match`, and `on_match_start` as its second argument.
---@class perigee.MatchDescription
---@field id integer
---@field queue string
---@field players perigee.MatchMember[]

--- The options that `on_join` gets when a match brings a player into the room.
---@class perigee.SeatOptions
---@field match integer The match's id.
---@field team integer
---@field role? string

--- A queue.
---@class perigee.Matchmaker
---@field name string
local Matchmaker = {}

--- Makes a peer, several peers or a party wait for a match. They are in the same team. If the handler fails, they do not
--- wait. `properties` has a value for each property of the queue's `match`. In a queue with roles, `role` is the role that a
--- player accepts, or a list of roles. For several peers, `roles` is a list with such an entry for each peer.
---@param who perigee.Peer|perigee.Peer[]|perigee.Party
---@param properties? table
---@return perigee.Ticket? ticket
---@return string? message
---@return string? code Queued, NoParty, PartyTooLarge, Penalty, Unsupported, ConnectionClosed.
function Matchmaker:enter(who, properties) end

--- Returns the ticket with which a peer waits in this queue.
---@param peer perigee.Peer
---@return perigee.Ticket?
function Matchmaker:ticket(peer) end

--- Returns the number of players who wait, and the number of their tickets.
---@return integer players
---@return integer tickets
function Matchmaker:waiting() end

--- A place in a queue, of one player or of several.
---@class perigee.Ticket
---@field id integer
---@field name string Name of the queue.
---@field peers perigee.Peer[]
---@field properties table
---@field waited number Seconds since the peers entered.
local Ticket = {}

--- Takes the players out of the queue. Returns false if they are not in it any more, or have been notified of a match.
---@return boolean
function Ticket:cancel() end

-- Parties ---------------------------------------------------------------------------------------

--- Parties: peers who stay together between matches.
---@class perigee.Parties
local Parties = {}

--- The options of `perigee.party.make`.
---@class perigee.PartyOptions
---@field size? integer Most members, at most 20. Default: 8.

--- Makes a party, which a peer leads.
---@param peer perigee.Peer
---@param options? perigee.PartyOptions
---@return perigee.Party? party
---@return string? message
---@return string? code InParty, ConnectionClosed, or that of a room that cannot be made.
function Parties.make(peer, options) end

--- Returns the party of a peer.
---@param peer perigee.Peer
---@return perigee.Party?
function Parties.of(peer) end

--- Returns the party with a code.
---@param code string Upper and lower case are the same.
---@return perigee.Party?
function Parties.find(code) end

--- A party. It ends when its last member leaves it or is gone.
---@class perigee.Party
---@field id integer
---@field code string Six letters and digits with which others join.
---@field name string The code.
---@field size integer Most members.
---@field count integer Members.
---@field leader? perigee.Peer The first member, or the one that was promoted.
---@field room? perigee.Room The room of its chat, `party:CODE`, which its members alone can join.
local Party = {}

--- Returns the members, the leader first.
---@return perigee.Peer[]
function Party:peers() end

--- Returns whether a peer is a member.
---@param peer perigee.Peer
---@return boolean
function Party:has(peer) end

--- Sends the party's code to a peer, as the message `party.invited`.
---@param peer perigee.Peer
---@return true? ok
---@return string? message
---@return string? code InParty, RateLimited, ConnectionClosed.
function Party:invite(peer) end

--- Adds a peer, and ends the ticket with which the party waits in a queue.
---@param peer perigee.Peer
---@return true? ok
---@return string? message
---@return string? code InParty, PartyFull, NoParty, ConnectionClosed.
function Party:join(peer) end

--- Removes a member. The next member leads the party in the place of the leader.
---@param peer perigee.Peer
---@return true? ok
---@return string? message
---@return string? code NoParty.
function Party:leave(peer) end

--- Removes a member, which gets `kicked` as the reason, and needs an invitation to come back.
---@param peer perigee.Peer
---@return true? ok
---@return string? message
---@return string? code NoParty.
function Party:kick(peer) end

--- Makes a member the leader.
---@param peer perigee.Peer
---@return true? ok
---@return string? message
---@return string? code NoParty.
function Party:promote(peer) end

-- Ratings ---------------------------------------------------------------------------------------

--- Ratings of skill by the Glicko-2 system.
---@class perigee.Ratings
local Ratings = {}

--- The skill of a player. It is data, to keep in the store.
---@class perigee.Rating
---@field rating number 1500 for a new player.
---@field deviation number How uncertain the rating is: 350 for a new player.
---@field volatility number How much the player's results vary: 0.06 for a new player.

--- Returns the rating of a new player.
---@return perigee.Rating
function Ratings.new() end

--- A result against another player.
---@class perigee.RatingResult
---@field opponent perigee.Rating The opponent's rating before the match.
---@field score number 1: won, 0: lost, 0.5: a draw.

--- Returns the rating of a player after some results; without any, after a period in which the player did not play.
---@param present perigee.Rating
---@param results perigee.RatingResult[]
---@return perigee.Rating
function Ratings.after(present, results) end

--- Returns the score that a player can expect against another one, from 0 to 1.
---@param player perigee.Rating
---@param opponent perigee.Rating
---@return number
function Ratings.expected(player, opponent) end
