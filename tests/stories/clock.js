// The clock and the timers of the JavaScript driver, which replace Node's, so that a story can let
// time pass at once.
const real = {
  now: performance.now.bind(performance), date: Date.now, set: globalThis.setTimeout, clear: globalThis.clearTimeout,
};
const timers = new Set();
let passed = 0; // milliseconds

performance.now = () => real.now() + passed;
Date.now = () => real.date() + passed;

function arm(timer) {
  real.clear(timer.handle);
  timer.handle = real.set(() => fire(timer), Math.max(0, timer.due - performance.now()));
}

function fire(timer) {
  if (timer.every === undefined) {
    timers.delete(timer);
    real.clear(timer.handle);
  } else {
    timer.due += timer.every;
    arm(timer);
  }
  timer.fn();
}

function add(fn, ms = 0, every) {
  const timer = { fn, due: performance.now() + ms, every, unref: () => timer };
  timers.add(timer);
  arm(timer);
  return timer;
}

globalThis.setTimeout = (fn, ms) => add(fn, ms);
globalThis.setInterval = (fn, ms) => add(fn, ms, ms);
globalThis.clearTimeout = globalThis.clearInterval = (timer) => {
  timers.delete(timer);
  real.clear(timer?.handle);
};

/** Lets that number of seconds pass: calls the timers that are due, each at its time. */
export async function pass(seconds) {
  const end = performance.now() + seconds * 1000;
  const next = () => [...timers].reduce((first, timer) => (timer.due < (first?.due ?? end) ? timer : first), undefined);
  for (let timer = next(); timer; timer = next()) {
    passed += Math.max(0, timer.due - performance.now());
    fire(timer);
    await new Promise(setImmediate); // lets the code run that awaits the timer
  }
  passed += Math.max(0, end - performance.now());
  timers.forEach(arm);
}
