-- The numbers of the game. Seconds, and units of which the arena is 1600 wide (a fighter is 40).
-- Save this file while people play: the running match has the new numbers at once.
return {
  -- bullet_speed is in game.lua

  -- Moving. `grip` is how hard the ground holds: 4 is ice, 14 is firm, 40 is glue.
  speed = 270,
  grip = 14,
  dash_speed = 1150,
  dash_every = 1.4,
  radius = 20,

  -- Shooting.
  fire_every = 0.15,
  bullet_seconds = 1.1,
  bullet_radius = 5,
  damage = 18,
  triple_spread = 0.16, -- radians between the three bullets of `triple`

  -- Living.
  health = 100,
  health_for_a_kill = 20,
  respawn_after = 2.5,
  safe_after_spawn = 1.5, -- seconds; a shot ends it earlier

  -- Power-ups.
  item_every = 9,
  item_radius = 16,
  item_kinds = { "heal", "heal", "rapid", "triple" },
  heal = 50,
  power_seconds = 8,
  rapid_factor = 0.5, -- factor of fire_every

  -- Fighters up to which bots join; they leave when people come. 0: none.
  fill_to = 6,
  bot_speed = 0.85, -- factor of a person's

  -- A round ends after this time, or when a fighter has this number of kills.
  round_seconds = 180,
  kills_to_win = 20,
  pause_seconds = 7,

  name_length = 16,

  -- Chat: number of lines at once, and the seconds until one more is allowed.
  chat_length = 120,
  chat_lines = 3,
  chat_every = 1.5,
}
