--- A process of clients that tests kill: `luajit tests/e2e/crowd.lua PORT COUNT ROOM` connects COUNT clients
--- and joins them, prints "ready", and then broadcasts and reads without end.
local uv = require "luv"
local Client = require "tests.e2e.client"
local wait = require "tests.e2e.wait"

local port, count, room_name = tonumber(arg[1]), tonumber(arg[2]), arg[3]

local clients = {}
for i = 1, count do
  local client = Client.connect(port)
  client:hello { name = ("crowd %d of %d"):format(i, uv.os_getpid()) }
  client.room = client:join(room_name)
  clients[i] = client
end
io.stdout:write "ready\n"
io.stdout:flush()

while true do
  for _, client in ipairs(clients) do
    if client.ended then os.exit(0) end
    client.inbox = {}
    if client.tcp:write_queue_size() == 0 then
      client:broadcast(client.room, ("x"):rep(200))
    end
  end
  wait.until_true(function() return clients[1].inbox[1] end, 0.01)
end
