--- Takes what a server's WELCOME says.

local function uuid_text(raw)
  local hex = raw:gsub(".", function(char) return ("%02x"):format(char:byte()) end)
  return (hex:gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)", "%1-%2-%3-%4-"))
end


--- Makes them fields of the client.
---@param client table
---@param event table the protocol's event "welcome"
return function(client, event)
  client.connected = true
  client.id, client.session = event.id, uuid_text(event.session)
  client.name = client._protocol.name
  client.max_payload, client.tick_rate = event.max_payload, event.tick_rate
  client.ping_interval = event.ping_interval_ms / 1e3
  client.server_time = event.server_time_us / 1e6
end
