-- Relay: a game without handlers. The server relays a member's broadcasts to the others without entering Lua.
return {
  config = { text_port = 4000, idle_timeout = 24 * 60 * 60 }, -- people in nc may be silent for long
  rooms = {
    lobby = { auto_create = true, auto_delete = 60 },
    -- table:1, table:blue, ...: a table exists from its first join until a minute after its last member left.
    table = { capacity = 8, auto_create = true, auto_delete = 60 },
  },
}
