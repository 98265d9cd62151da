-- The arena itself. Pages get all of it when they join and after each reload, so a wall that
-- you move here moves in front of everybody.
return {
  width = 1600,
  height = 1000,

  -- x, y, width, height
  walls = {
    { 770, 470, 60, 60 }, -- the pillar in the middle
    { 780, 130, 40, 170 }, { 780, 700, 40, 170 },
    { 510, 480, 150, 40 }, { 940, 480, 150, 40 },
    -- Four corners to hide in.
    { 280, 210, 170, 40 }, { 280, 250, 40, 120 },
    { 1150, 210, 170, 40 }, { 1280, 250, 40, 120 },
    { 280, 750, 170, 40 }, { 280, 630, 40, 120 },
    { 1150, 750, 170, 40 }, { 1280, 630, 40, 120 },
  },

  -- Where fighters appear, the farther from others the better.
  spawns = {
    { 110, 110 }, { 800, 70 }, { 1490, 110 }, { 110, 500 }, { 1490, 500 },
    { 110, 890 }, { 800, 930 }, { 1490, 890 }, { 585, 600 }, { 1015, 400 },
  },

  -- Where power-ups lie.
  items = { { 385, 310 }, { 1215, 310 }, { 385, 690 }, { 1215, 690 }, { 800, 400 }, { 800, 600 } },

  -- Points of the ways of bots that see no enemy. From each point, a bot can see some of the others.
  paths = {
    { 150, 150 }, { 520, 140 }, { 700, 210 }, { 900, 210 }, { 1080, 140 }, { 1450, 150 },
    { 150, 500 }, { 400, 440 }, { 400, 560 }, { 580, 350 }, { 580, 650 }, { 720, 400 }, { 880, 400 },
    { 720, 600 }, { 880, 600 }, { 1020, 350 }, { 1020, 650 }, { 1200, 440 }, { 1200, 560 }, { 1450, 500 },
    { 150, 850 }, { 520, 860 }, { 700, 790 }, { 900, 790 }, { 1080, 860 }, { 1450, 850 },
  },
}
