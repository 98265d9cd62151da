-- Relay: no script logic at all. The server relays a member's broadcasts to the others without
-- entering Lua.
return {
  config = { text_port = 4000, idle_timeout = 24 * 60 * 60 }, -- people in nc think for long
  rooms = {
    lobby = { auto_create = true, auto_delete = 60 },
    -- table:1, table:blue, ...: there as soon as someone joins, gone a minute after the last left.
    table = { capacity = 8, auto_create = true, auto_delete = 60 },
  },
}
