// The transports on which each story runs.
import { WebSocket } from "./websocket.js";

/** Options for self-signed certificates. */
const UNSIGNED = { rejectUnauthorized: false };

/** Flags of the server, which serves all transports on one port. */
export const flags = ["--tls-dev"];

/** Transports by name; `to(server, options)` returns the arguments of `connect`. */
export const transports = [
  { name: "native packets", to: (server, options) => [server.address, options] },
  { name: "WebSocket", to: (server, options) => [`ws://${server.address}`, { ...options, WebSocket }] },
  { name: "native packets and TLS", to: (server, options) => [`tls://${server.address}`, { ...options, tls: UNSIGNED }] },
  { name: "WebSocket and TLS", to: (server, options) => [`wss://${server.address}`, { ...options, WebSocket }] },
];
