// The ways to the server that every story is told on.
import { WebSocket } from "./websocket.js";

/** `to(server, options)` gives the arguments of connect. */
export const transports = [
  { name: "native packets", to: (server, options) => [server.address, options] },
  { name: "WebSocket", to: (server, options) => [`ws://${server.address}`, { ...options, WebSocket }] },
];
