-- The numbers of the game; seconds. Save this file while people play: the next phase has the new ones.
return {
  -- hints is in game.lua: so many letters of the word are shown while it is drawn

  seats = 8,        -- players at a table; others may watch
  members = 24,     -- players and watchers
  rounds = 3,       -- in each, everybody draws once; the host may choose another number
  seconds = 80,     -- for a drawing; the host may choose others
  choose = 12,      -- to choose one of three words
  pause = 5,        -- to look at the picture and its word
  keep_seat = 120,  -- that a seat and its score wait for a player who has left
  wait = 10,        -- that a turn waits for a player who is away: for a page that is loaded again

  -- A right guess is worth so much at once, and nothing less than `least` at the end.
  most = 300,
  least = 50,

  points = 6000,    -- of one picture: further lines are not drawn

  -- Words: so many lines at once, and one more every so often.
  lines = 6,
  line_every = 0.7,
}
