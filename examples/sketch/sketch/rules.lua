-- The numbers of the game, in seconds. Save this file while people play: the next phase uses the new numbers.
return {
  -- game.lua has `hints`, the number of letters that are shown during a drawing

  seats = 8,        -- players at a table; others may watch
  members = 24,     -- players and watchers
  rounds = 3,       -- rounds of a match; in each, everybody draws once; the host may choose another number
  seconds = 80,     -- time for a drawing; the host may choose another time
  choose = 12,      -- time in which a player chooses one of three words
  pause = 5,        -- time in which everybody sees the picture and its word
  keep_seat = 120,  -- how long the seat and score of a player who has left are kept
  wait = 10,        -- how long a turn waits for an absent player, for example while its page loads again

  -- Points for a right guess: `most` at once, then fewer and fewer, at last `least`.
  most = 300,
  least = 50,

  points = 6000,    -- most points of a picture: further lines are not drawn

  -- Chat: number of lines at once, and the seconds until one more is allowed.
  lines = 6,
  line_every = 0.7,
}
