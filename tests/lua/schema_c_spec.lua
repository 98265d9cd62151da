-- The C code of schemas compiles without a warning, as C and as C++, and its encoders and decoders agree with
-- those in Lua to the byte. `SCHEMAS=1000 SEED=7 busted tests/lua/schema_c_spec.lua` tries more of them.
local c_program = require "tests.lua.c_program"
local random_schema = require "tests.lua.random_schema"
local schema = require "perigee.schema"
local to_c = require "perigee.schema.to_c"

local SCHEMAS = tonumber(os.getenv "SCHEMAS") or 12
local SEED = tonumber(os.getenv "SEED") or 1
local BATCH = 12 -- schemas in one program
local VALUES, DAMAGED = 4, 8 -- number of valid and of damaged values for each type

local STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsanitize=address,undefined "
  .. "-fno-sanitize-recover=all "
local C11, CPP17 = "gcc -std=c11 " .. STRICT, "g++ -std=c++17 -x c++ " .. STRICT

local folder

-- Runs a command; returns its output, or fails with it.
local function run(command)
  local pipe = assert(io.popen("timeout 100 " .. command .. " 2>&1; echo \"=$?\""))
  local out, code = pipe:read("*a"):match "^(.*)=(%d+)%s*$"
  pipe:close()
  if code ~= "0" then error(command .. ":\n" .. out, 2) end
  return out
end

local function save(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
  return folder .. "/" .. name
end

local function compile(compiler, source)
  run(("%s -o %s.out %s"):format(compiler, source, source))
  return source .. ".out"
end

-- Returns a program's answers to lines.
local function answers(program, lines)
  local input, list = save("lines", table.concat(lines, "\n") .. "\n"), {}
  for line in run(program .. " < " .. input):gmatch "[^\n]+" do list[#list + 1] = line end
  assert.equal(#lines, #list)
  return list
end

local function hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end

-- Returns the parts of a schema's messages with random values, and the bytes that Lua makes of them.
local function parts_of(found, random)
  local parts = {}
  for _, message in ipairs(found.messages) do
    for _, name in ipairs { "value", "answer" } do
      local suffix = name == "answer" and "_answer" or ""
      local part = { message = message, name = name, values = {}, bytes = {}, count = VALUES,
        encode = message["encode" .. suffix], decode = message["decode" .. suffix] }
      for i = 1, VALUES do
        random.is_rough = i % 2 == 0
        part.values[i] = random_schema.value(random, message[name])
        part.bytes[i] = part.encode(part.values[i])
      end
      if message[name] then parts[#parts + 1] = part end
    end
  end
  return parts
end

-- Adds requests for the program, and the expected answers.
local function add_cases(part, random, lines, wanted, is_c)
  local function ask(line, answer)
    lines[#lines + 1], wanted[#wanted + 1] = line, answer
  end
  for i = 1, part.count do
    local bytes = part.bytes[i]
    ask(part.number .. " " .. hex(bytes), "good " .. hex(bytes))
    if is_c then ask("=" .. part.first + i - 1, "good " .. hex(bytes)) end
    for _ = 1, DAMAGED / VALUES do
      local damaged = random_schema.damage(random, bytes)
      ask(part.number .. " " .. hex(damaged), part.decode(damaged) and "good " .. hex(damaged) or "bad ")
    end
  end
end

local function check_batch(first, compiler)
  local list, lines, wanted, random = {}, {}, {}, nil
  for seed = first, first + BATCH - 1 do
    random = random_schema.random(seed)
    local text = random_schema.text(random)
    local found = schema.parse(text, "s")
    list[#list + 1] = { schema = found, prefix = "s" .. seed, parts = parts_of(found, random), text = text }
  end
  local program = compile(compiler, c_program.write(folder, list))
  for _, one in ipairs(list) do
    for _, part in ipairs(one.parts) do add_cases(part, random, lines, wanted, compiler == C11) end
  end
  local seen = { good = 0, bad = 0 }
  for i, answer in ipairs(answers(program, lines)) do
    local kind = answer:match "^%l+"
    seen[kind] = seen[kind] + 1
    if kind == "bad" and answer ~= "bad " then answer = "bad " end
    if answer ~= wanted[i] then
      error(("seeds %d to %d, %s: %s instead of %s"):format(first, first + BATCH - 1, lines[i], answer,
        wanted[i]))
    end
  end
  assert.is_true(seen.good > BATCH and seen.bad > BATCH)
end

describe("the C of a schema", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    run("mkdir " .. folder)
  end)

  teardown(function() run("rm -r " .. folder) end)

  for name, compiler in pairs { C11 = C11, ["C++17"] = CPP17 } do
    it("writes and reads what Lua does, as " .. name, function()
      for first = SEED, SEED + SCHEMAS - 1, BATCH do check_batch(first, compiler) end
    end)
  end

  local function header(text, prefix)
    return to_c.header(schema.parse(text, "s"), prefix or "game")
  end

  -- Checks the contents of a schema's header, which must compile in C and C++ without a warning.
  local function has(text, ...)
    local made = header(text)
    for _, part in ipairs { ... } do assert.truthy(made:find(part, 1, true), made) end
    local source = save("one.c", made .. "int main(void) { return 0; }\n")
    compile(C11, source)
    compile(CPP17, source)
  end

  it("has the hash, a number and a struct for each message, and what it is made of first", function()
    local text = [[
      struct inner { x: u8 } struct outer { all: inner[][..3], mode: mode?, at: f64[2][3], raw: bytes[4] }
      enum mode { on, off }
      message told = 7: outer
      message asked = 8 { n: varint, list: f32[2][] } -> inner
      message alone = 9: mode?
      message nothing = 10
    ]]
    has(text, "#define GAME_PROTOCOL_HASH UINT64_C(0x" .. schema.parse(text, "s").hash .. ")",
      "  GAME_TOLD = 7,\n  GAME_ASKED = 8,\n  GAME_ALONE = 9,\n  GAME_NOTHING = 10\n",
      "typedef struct GameInner {\n  uint8_t x;\n} GameInner;\n\ntypedef struct GameInnerList {\n"
        .. "  const GameInner *items;\n  size_t count;\n} GameInnerList;\n",
      "typedef struct GameInnerListList {\n  const GameInnerList *items;\n  size_t count;\n"
        .. "} GameInnerListList;\n",
      "typedef enum GameMode {\n  GAME_MODE_ON,\n  GAME_MODE_OFF\n} GameMode;\n",
      "  bool has_mode;\n  GameMode mode;\n  double at[3][2];\n  PerigeeBytes raw[4];\n} GameOuter;\n",
      "typedef struct GameF32Array2 {\n  float items[2];\n} GameF32Array2;\n",
      "game_told_encode(const GameOuter *value,", "game_asked_answer_decode(GameInner *value,",
      "typedef struct GameAlone {\n  bool has_value;\n  GameMode value;\n} GameAlone;\n")
  end)

  it("has no name twice, and none that is a word of C or C++", function()
    local text = [[
      struct point { class: u8, int: i8?, has_int: bool, errno: u8, NULL: u8, INT8_MAX: u8, GamePoint: u8,
        uint8_t: u8, _Bool: u8, and: u8, value: u8 }
      struct Point { point: point } struct u8_list { x: bool }
      enum told { a, A, number }
      message told = 1 { a: told, b: point, c: Point }
      message "told?" = 2: u8[] message "größe" = 3 message "??/" = 4: bool message "%d %" = 5: u8
      message told_a = 6: u8_list message Told = 7: string
    ]]
    has(text, "  uint8_t class_;\n  bool has_int_;\n  int8_t int_;\n  bool has_int;\n  uint8_t errno_;\n"
        .. "  uint8_t NULL_;\n  uint8_t INT8_MAX_;\n  uint8_t GamePoint_;\n  uint8_t uint8_t_;\n"
        .. "  uint8_t _Bool_;\n  uint8_t and_;\n  uint8_t value;\n} GamePoint;\n",
      "} GamePoint_;\n", "} GameTold_;\n", "GAME_TOLD_A_", "GAME_TOLD_2 = 2", "GAME_GR_E = 3",
      "GAME_MESSAGE_4 = 4", "GAME_D = 5", "GAME_TOLD_7 = 7", "} GameU8List;\n", "} GameU8List_;\n")
  end)

  it("tells what is wrong with a value, and where", function()
    local text = [[
      enum mode { on, off }
      message "50%?" = 1 {
        mode: mode, at: f32(-1..1, 0.5)[..2], name: string(3), n: u64, i: varint, f: f32, g: f64
        raw: bytes(2)
      }
    ]]
    local program = { header(text), [[
static void tell(const Game50 *value, size_t room) {
  static uint8_t data[64];
  PerigeeFault fault = {"nothing"};
  int size = game_50_encode(value, data, room, &fault);
  printf("%d %s\n", size, fault.text);
  if (game_50_encode(value, data, room, NULL) != size) printf("not without a fault\n");
}

int main(void) {
  static const double at[] = {0, 2, 0};
  const Game50 good = {GAME_MODE_ON, {at, 1}, perigee_text("ann"), 1, 1, 1, 1, {NULL, 0}};
  Game50 value;
]] }
    local wanted = {}
    for _, case in ipairs {
      { "", "29 nothing" },
      { "tell(&value, 28)", "-1 50%?: takes 29 bytes, and there is room for 28" },
      { "value.mode = (GameMode)2", "-1 50%?.mode: expected one of on, off, got 2" },
      { "value.at.count = 2", "-1 50%?.at[1]: expected a number from -1 to 1, got 2" },
      { "value.at.count = 3", "-1 50%?.at: expected a list of at most 2" },
      { "value.at.items = NULL", "-1 50%?.at: expected a list of at most 2" },
      { 'value.name = perigee_text("anna")', "-1 50%?.name: expected a string of at most 3 bytes of UTF-8" },
      { 'value.name = perigee_text("\\303")', "-1 50%?.name: expected a string of at most 3 bytes of UTF-8" },
      { "value.n = UINT64_C(1) << 53",
        "-1 50%?.n: expected a whole number from 0 to 9007199254740991, got 9007199254740992" },
      { "value.i = -(INT64_C(1) << 52) - 1",
        "-1 50%?.i: expected a whole number from -4503599627370496 to 4503599627370495, got "
          .. "-4503599627370497" },
      { "value.f = HUGE_VALF", "-1 50%?.f: expected a number that f32 holds, got inf" },
      { "value.g = -HUGE_VAL", "-1 50%?.g: expected a finite number, got -inf" },
      { "value.raw.size = 1", "-1 50%?.raw: expected a string of at most 2 bytes" },
    } do
      program[#program + 1] = case[1]:find "tell" and ("  %s;\n"):format(case[1])
        or ("  value = good;\n  %s;\n  tell(&value, 30);\n"):format(case[1])
      wanted[#wanted + 1] = case[2]
    end
    program[#program + 1] = "return 0;\n}\n"
    local out = run(compile(C11, save("faults.c", "#include <math.h>\n" .. table.concat(program))))
    assert.equal(table.concat(wanted, "\n") .. "\n", out)
  end)

  it("tells what is wrong with bytes, and takes no more memory than there is", function()
    local text = "message m = 1 { a: bool, list: string(9)[..4], last: u16? }"
    local program = header(text) .. [[
static void tell(const char *data, size_t size, size_t room) {
  static uint64_t space[16];
  PerigeeMemory memory = {space, room, 0};
  PerigeeFault fault = {"nothing"};
  GameM value;
  int code = game_m_decode(&value, data, size, &memory, &fault);
  printf("%d %s %zu\n", code, fault.text, code == 0 ? value.list.count : 99);
  if (game_m_decode(&value, data, size, NULL, NULL) == 0 && value.list.count > 0) printf("without memory\n");
}

int main(void) {
  tell("\3\2\1a\2bc\7\0", 9, sizeof(PerigeeText) * 2 + 5);
  tell("\3\2\1a\2bc\7\0", 9, sizeof(PerigeeText) * 2 + 4);
  tell("\3\2\1a\2bc\7\0", 9, sizeof(PerigeeText) * 2 - 1);
  tell("\3\2\1a\2bc\7\0", 9, 0);
  tell("\1\0", 2, 0);
  tell("\1\0\0", 3, 0);
  tell("\5\0", 2, 0);
  tell("\1\5aaaaa", 7, 99);
  tell("\1\1\1\200", 4, 99);
  tell("\1\1\2a", 4, 99);
  tell("\3\0\7", 3, 99);
  tell("\1\200\0", 3, 99);
  tell("", 0, 99);
  return 0;
}
]]
    assert.equal(table.concat({
      "0 nothing 2", "-1 m.list[1] takes more memory than there is 99",
      "-1 m.list takes more memory than there is 99", "-1 m.list takes more memory than there is 99",
      "0 nothing 0",
      "-1 m: there are bytes behind the end of the message 99",
      "-1 m is not zeros in the bits that fill up its byte 99", "-1 m.list is not a list of at most 4 99",
      "-1 m.list[0] is not a string of at most 9 bytes of UTF-8 99",
      "-1 m.list[0] is not a string of at most 9 bytes of UTF-8 99", "-1 the bytes end at m.last 99",
      "-1 m.list is not a number 99", "-1 the bytes end at m 99",
    }, "\n") .. "\n", run(compile(C11, save("bytes.c", program))))
  end)
end)
