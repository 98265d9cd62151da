--- What to write for names that a script may look for in `perigee` in vain: what other servers call it.
return {
  broadcast = "perigee.send(perigee.to.all, name, value)",
  create_room = "perigee.rooms.create(name)",
  emit = "perigee.send(perigee.to.all, name, value)",
  get_room = "perigee.rooms.get(name)",
  lockstep = "room.lockstep",
  log = "print(...)",
  on = "function game.on_message.NAME(peer, value)",
  peers = "room:peers()",
}
