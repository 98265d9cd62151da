--- Codes that only libperigee uses, with the names and the messages that Lua's calls return.

return {
  Timeout = { "timeout", "timeout" },
  TooLarge = { "PayloadTooLarge", "more payload than the server takes" },
  QueueFull = { "QueueFull", "too much waits for the server" },
  Over = { "ConnectionClosed", "closed" },
  Offline = { "ConnectionReset", "the connection is lost" },
  NotJoined = { "NotInRoom", "this client is not in that room" },
  BadArgument = { "Protocol", "that cannot be sent" },
}
