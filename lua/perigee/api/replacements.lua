--- Suggestions for names that objects of the API do not have, but that clients, other servers or databases
--- have.
local peer = {
  broadcast = "room:broadcast(name, value, { except = peer })",
  emit = "peer:send(name, value)",
}

return {
  account = {
    save = "account:update(fn)",
    set = "account:update(fn)",
    ["="] = "; account:update(fn) changes account.data",
  },
  collection = {
    add = "collection:put(id, value)",
    all = "collection:find({})",
    insert = "collection:put(id, value)",
    load = "collection:get(id)",
    query = "collection:find(conditions)",
    read = "collection:get(id)",
    remove = "collection:delete(id)",
    save = "collection:put(id, value)",
    set = "collection:put(id, value)",
    write = "collection:put(id, value)",
    ["="] = "; collection:put(id, value) writes a document",
  },
  leaderboard = {
    add = "leaderboard:submit(id, score)",
    delete = "leaderboard:remove(id)",
    get = "leaderboard:rank(id)",
    list = "leaderboard:top(count)",
    put = "leaderboard:submit(id, score)",
    set = "leaderboard:submit(id, score)",
  },
  peer = peer,
  bot = peer,
  room = {
    emit = "room:broadcast(name, value)",
    members = "room:peers()",
  },
  perigee = {
    broadcast = "perigee.send(perigee.to.all, name, value)",
    create_room = "perigee.rooms.create(name)",
    emit = "perigee.send(perigee.to.all, name, value)",
    get_room = "perigee.rooms.get(name)",
    lockstep = "room.lockstep",
    log = "print(...)",
    on = "function game.on_message.NAME(peer, value)",
    peers = "room:peers()",
  },
}
