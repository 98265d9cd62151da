// Compares the sum over a hundred thousand results of fixed-point functions with that of tests/lua/fixed_spec.lua.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixed } from "../lockstep.js";

const SUM = 3086319262;
const COUNT = 100_000;

test("fixed-point numbers are the same as in Lua", () => {
  let random = 1, sum = 0;
  const add = (value) => { sum = (Math.imul(sum, 31) + value) >>> 0; };
  for (let i = 0; i < COUNT; i++) {
    random = fixed.random(random);
    const a = random | 0;
    random = fixed.random(random);
    const b = (random | 0) >> (random % 32);
    for (const name of ["mul", "div"]) add(fixed[name](a, b));
    add(fixed.sqrt(a));
    add(fixed.sin(a));
    add(fixed.cos(b));
    add(fixed.atan2(a, b));
    add(random);
  }
  assert.equal(sum, SUM);
  assert.ok(Object.is(fixed.sin(32768), 0));
});
