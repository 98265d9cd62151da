// A TCP proxy that breaks connections.
import net from "node:net";

/** Repeatable random numbers from 0 to 1. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => { // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Forwards to `port`. `proxy.budget()` says after how many bytes, of both directions, a new
 * connection is cut, wherever in a packet that is.
 */
export async function startProxy(t, port) {
  const open = new Set();
  const proxy = { cuts: 0, budget: () => Infinity, cutAll: () => open.forEach((cut) => cut(true)) };

  const server = net.createServer((client) => {
    const upstream = net.connect(port, "127.0.0.1");
    let left = proxy.budget();
    function cut(isAbrupt) {
      open.delete(cut);
      for (const socket of [client, upstream]) {
        // Node never ends a process with a socket that was reset while it was being ended.
        if (isAbrupt && socket === client && !client.writableEnded) socket.resetAndDestroy();
        else socket.destroy();
      }
    }
    open.add(cut);
    for (const [from, to] of [[client, upstream], [upstream, client]]) {
      from.setNoDelay(true);
      from.on("error", () => cut(true));
      from.on("close", () => to.end());
      from.on("end", () => to.end());
      from.on("data", (data) => {
        if (left <= 0) return;
        to.write(data.subarray(0, left));
        left -= data.length;
        if (left > 0) return;
        proxy.cuts += 1;
        // Bytes that were passed on still leave; then the line is dead.
        setImmediate(() => cut(proxy.cuts % 2 === 0));
      });
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    open.forEach((cut) => cut(false));
    server.close();
  });
  return Object.assign(proxy, { port: server.address().port, address: `127.0.0.1:${server.address().port}` });
}
