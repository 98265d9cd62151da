---@meta
-- Globals of specs --------------------------------------------------------------------------

--- `perigee test` runs specs with busted, which has these functions.

--- Groups the tests in `fn`. Reports show `name` before the names of these tests.
---@param name string
---@param fn fun()
function describe(name, fn) end

--- Groups the tests in `fn`, like `describe`.
---@param name string
---@param fn fun()
function context(name, fn) end

--- Declares a test.
---@param name string
---@param fn fun()
function it(name, fn) end

--- Declares a test that does not run yet.
---@param name string
---@param fn? fun()
function pending(name, fn) end

--- Runs before each test of the group.
---@param fn fun()
function before_each(fn) end

--- Runs after each test of the group.
---@param fn fun()
function after_each(fn) end

--- Runs once, before the tests of the group.
---@param fn fun()
function setup(fn) end

--- Runs once, after the tests of the group.
---@param fn fun()
function teardown(fn) end

--- Assertions. `assert(value, message)` raises an error unless `value` is true.
---@class perigee.testing.Assert
---@overload fun(value: any, message: any, ...: any): any
assert = {}

--- Asserts that `actual == expected`.
---@param expected any
---@param actual any
---@param message? string
function assert.equal(expected, actual, message) end

--- Asserts that `actual ~= expected`.
---@param expected any
---@param actual any
---@param message? string
function assert.not_equal(expected, actual, message) end

--- Asserts that the values are equal; tables are compared by their content.
---@param expected any
---@param actual any
---@param message? string
function assert.same(expected, actual, message) end

--- Asserts that the values are not equal; tables are compared by their content.
---@param expected any
---@param actual any
---@param message? string
function assert.not_same(expected, actual, message) end

--- Asserts that the value is true.
---@param value any
---@param message? string
function assert.is_true(value, message) end

--- Asserts that the value is false.
---@param value any
---@param message? string
function assert.is_false(value, message) end

--- Asserts that the value is nil.
---@param value any
---@param message? string
function assert.is_nil(value, message) end

--- Asserts that the value is not nil.
---@param value any
---@param message? string
function assert.is_not_nil(value, message) end

--- Asserts that the value is neither false nor nil.
---@param value any
---@param message? string
function assert.truthy(value, message) end

--- Asserts that the value is false or nil.
---@param value any
---@param message? string
function assert.falsy(value, message) end

--- Asserts that the text matches the Lua pattern.
---@param pattern string
---@param text string
---@param message? string
function assert.matches(pattern, text, message) end

--- Asserts that the function raises an error. If `expected` is given, the error must equal it.
---@param fn fun()
---@param expected? any
function assert.has_error(fn, expected) end
