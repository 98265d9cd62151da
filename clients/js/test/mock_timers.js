// Timers that a test controls. Those of Debian 12's Node (18) do not support unref, so this file has its own.

/** Replaces setTimeout and setInterval. Returns a function that lets a number of milliseconds pass. */
export function mockTimers(t) {
  let now = 0;
  const timers = new Set(); // in the order in which they were made
  const add = (fn, delay, args, every) => {
    const timer = { fire: () => fn(...args), at: now + delay, every, ref: () => timer, unref: () => timer };
    timers.add(timer);
    return timer;
  };
  t.mock.method(globalThis, "setTimeout", (fn, delay = 1, ...args) => add(fn, delay, args));
  t.mock.method(globalThis, "setInterval", (fn, delay = 1, ...args) => add(fn, delay, args, delay));
  for (const name of ["clearTimeout", "clearInterval"]) {
    const original = globalThis[name];
    t.mock.method(globalThis, name, (timer) => timers.delete(timer) || original(timer));
  }
  return (milliseconds) => {
    const end = now + milliseconds;
    for (;;) {
      const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      now = next.at;
      if (next.every) next.at += next.every;
      else timers.delete(next);
      next.fire();
    }
    now = end;
  };
}
