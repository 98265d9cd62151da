--- Simulates the servers to which a game sends requests with perigee.http. A function of the test gives their
--- answers.

local failure = require "perigee.testing.failure"
local sim = require "perigee.sim"

local FIELDS = { status = "number", headers = "table", body = "string", delay = "number" }


-- Returns the answer in the form that the game gets, and its delay in seconds.
local function complete(answer)
  if answer == nil then return nil, 0 end
  failure.check("the answer to an HTTP request", answer, "table")
  failure.check_options("an answer", answer, FIELDS)
  local headers = {}
  for name, value in pairs(answer.headers or {}) do headers[name:lower()] = tostring(value) end
  return { status = answer.status or 200, headers = headers, body = answer.body or "" }, answer.delay or 0
end


local function deliver(reply)
  local server = reply.server
  if server._is_closed or server._is_down or server._life ~= reply.life then return end
  sim.inspect(server._id, "http_answer", reply.token, reply.answer, reply.problem, reply.code)
end


local function answer_request(self, request)
  local token = request.token
  request.token = nil
  local given, problem, code = self._web(request)
  local answer, delay = complete(given)
  local reply = { server = self, life = self._life, token = token, answer = answer }
  if not answer then reply.problem, reply.code = problem or "cannot connect", code or "Unavailable" end
  if delay <= 0 then return deliver(reply) end
  self._clock:at(self._clock.now + math.ceil(delay * 1000), deliver, reply)
end


return function(Server)
  --- Sets the function that answers the game's HTTP requests, which then do not use the network.
  ---@param answer fun(request: table): table?, string?, string?
  function Server:http(answer)
    self:_check_running()
    failure.check("what answers HTTP requests", answer, "function")
    self._web = answer
    sim.inspect(self._id, "http_serve")
  end


  --- Answers the requests that the game has made since the last call.
  function Server:_answer_requests()
    if not self._web then return end
    for _, request in ipairs((sim.inspect(self._id, "http_requests"))) do answer_request(self, request) end
  end
end
