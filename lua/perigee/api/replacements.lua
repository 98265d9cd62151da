--- Suggestions for names that perigee, peers, bots or rooms do not have, but that clients or other servers
--- have.
local peer = {
  broadcast = "room:broadcast(name, value, { except = peer })",
  emit = "peer:send(name, value)",
}

return {
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
