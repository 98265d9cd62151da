// A TCP proxy that breaks connections.
import net from "node:net";

/** Returns a function that returns random numbers from 0 to 1, the same for the same seed. */
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
 * Forwards to `port`. For each new connection, `proxy.budget()` returns the number of bytes, of both directions
 * together, after which the proxy cuts it, even in the middle of a packet.
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
        // A socket that is reset while it is being ended would keep the Node process alive for ever.
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
        // The bytes passed on so far still leave; then the proxy cuts the connection.
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
