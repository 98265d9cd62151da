--- The reader of C by which scripts/layers.lua and scripts/sizes.lua measure the sources.
package.path = "scripts/?.lua;" .. package.path
local c_source = require "c_source"

local function names(source)
  local list = {}
  for i, fn in ipairs(source.functions) do list[i] = fn.name end
  return list
end

describe("the reader of C", function()
  it("finds functions with their lines and parameters, and no prototypes, types or variables", function()
    local source = c_source.read [[
#define TWICE(x) twice(x)
typedef struct Thing Thing;
struct Thing {
  int (*call)(Thing *thing);
};
enum { SIZE = 4 };
static int first(int a, int b);
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *NAMES[] = {"{", "a(b)"};

static int first(int a,
                 int b) {
  return a + b;
}

void second(void) { first(1, 2); }
]]
    assert.same({ "first", "second" }, names(source))
    local first, second = unpack(source.functions)
    assert.same({ 11, 14, true }, { first.first, first.last, first.is_static })
    assert.same({ 16, 16, false }, { second.first, second.last, second.is_static })
    assert.truthy(first.parameters:find("int b", 1, true))
    assert.same({ calls = 1, others = 0 }, second.mentions.first)
  end)

  it("tells calls from addresses, and both from fields, comments and literals", function()
    local source = c_source.read [[
static const Table TABLE = {.open = on_open, .close = on_close};
void f(Thing *thing) {
  // g(1)
  thing->g(2); /* g(3) */
  thing->data.g = "g(4)";
  char c = '"';
  g(5);
  use(&g, g);
}
]]
    assert.same({ calls = 1, others = 2 }, source.functions[1].mentions.g)
    assert.same({ calls = 0, others = 1 }, source.mentions.on_open)
    assert.is_nil(source.mentions.open)
    assert.is_nil(source.functions[1].mentions.data)
  end)

  it("finds cycles, the longest first", function()
    local uses = {
      a = { b = true }, b = { c = true, x = true }, c = { a = true }, d = { a = true },
      x = { y = true }, y = { x = true }, z = { z = true },
    }
    assert.same({ { "a", "b", "c" }, { "x", "y" } },
      c_source.cycles({ "a", "b", "c", "d", "x", "y", "z" }, uses))
  end)
end)

describe("what is measured", function()
  -- Returns the output of a script over a tree of these files.
  local function run(files, script)
    local folder = os.tmpname()
    os.remove(folder)
    for path, text in pairs(files) do
      assert(os.execute(("mkdir -p %s/%s"):format(folder, path:match "^(.*)/" or ".")))
      local file = assert(io.open(folder .. "/" .. path, "w"))
      file:write(text)
      file:close()
    end
    os.execute(("mkdir -p %s/tests/c && cp -r scripts %s/"):format(folder, folder))
    local pipe = io.popen(("cd %s && luajit scripts/%s 2>&1"):format(folder, script))
    local out = pipe:read "*a"
    pipe:close()
    os.execute("rm -r " .. folder)
    return out
  end

  -- Returns the smallest tree that the scripts accept.
  local function tree(more)
    local files = {
      ["tests/CMakeLists.txt"] = "", ["lua/perigee/init.lua"] = "return 1\n",
      ["src/net/conn.h"] = "struct Conn {\n  int a, *b[2];\n  bool is_c;\n};\n",
      ["src/net/conn.c"] = "void conn_input(Conn *c, const uint8_t *bytes) { use(c, bytes); }\n",
      ["clients/c/client.c"] = "", ["clients/lua/core.c"] = "",
      ["ARCHITECTURE.md"] = "```close\nconn.c conn_input\n```\n",
    }
    local sources = { "src/net/conn.c" }
    for path, text in pairs(more) do
      files[path] = text
      sources[#sources + 1] = path
    end
    files["CMakeLists.txt"] = table.concat(sources, "\n")
    return files
  end

  local function row(out, what)
    return tonumber(out:match(what .. " +[%d-]+ +(%d+)"))
  end

  it("are includes that point up, and libuv outside its layers", function()
    local out = run(tree {
      ["src/base/a.c"] = '#include "net/conn.h"\n', ["src/wire/b.c"] = "#include <uv.h>\n",
      ["src/os/c.c"] = "#include <uv.h>\n",
    }, "layers.lua")
    assert.truthy(out:find("src/base/a.c:1: base is below net", 1, true), out)
    assert.truthy(out:find("src/wire/b.c:1: <uv.h> is used in another layer", 1, true), out)
    assert.is_nil(out:find("src/os/c.c", 1, true), out)
  end)

  it("are systems outside of the client's one file about them", function()
    local out = run(tree {
      ["clients/c/client.c"] = '#include <poll.h>\n#include "os.h"\n',
      ["clients/c/os.c"] = "#include <poll.h>\n",
      ["clients/lua/core.c"] = "#ifdef _WIN32\n#endif\n",
      ["clients/lua/module.h"] = "#ifdef _WIN32\n#endif\n",
    }, "layers.lua")
    assert.truthy(out:find("clients/c/client.c:1: <poll.h> is of the operating system", 1, true), out)
    assert.truthy(out:find("clients/c/client.c:2: os.h is the driver's", 1, true), out)
    assert.truthy(out:find("clients/lua/core.c:1: what differs in Windows belongs in os.c", 1, true), out)
    assert.is_nil(out:find("os.c:", 1, true) or out:find("module.h:", 1, true), out)
  end)

  it("are cycles of more than three files in any folder", function()
    local files = {}
    for i, name in ipairs { "a", "b", "c", "d" } do
      local after = ("abcda"):sub(i + 1, i + 1)
      files["src/base/" .. name .. ".c"] = ("void %s_do(void) { %s_do(); }\n"):format(name, after)
    end
    local out = run(tree(files), "layers.lua")
    assert.truthy(out:find("src/base: 4 files call each other in a cycle: src/base/a.c", 1, true), out)
  end)

  it("is what the core of net knows of its users", function()
    local out = run(tree {
      ["src/net/transport/tls.c"] = "void tls_take(Conn *c) { conn_input(c, c->bytes); }\n",
      ["src/net/group.c"] = [[
#include "net/transport/tls_calls.h"
void group_flush(Conn *conn) {
  if (conn->servicer) tls_take(conn);
}
]],
    }, "layers.lua --report")
    assert.equal(1, row(out, "functions that the core of net calls in its users"), out)
    assert.equal(1, row(out, "pairs of files of net of which one uses the other upwards"), out)
    assert.equal(1, row(out, "ifs in the core of net about what a connection is"), out)
    assert.equal(1, row(out, "includes in net of headers that are their folders' alone"), out)
    assert.equal(1, row(out, "lines about threads in files that are not"), out)
    assert.equal(1, row(out, "places where a received byte enters the core"), out)
  end)

  it("are sizes", function()
    local out = run(tree {
      ["src/net/http.c"] = [[
static int short_one(void) { return http_read_request(); }
static int twice(void) { return 1; }
static int passed_on(void) { return 1; }
int http_go(void) { return short_one() + twice() + twice() + call(passed_on); }
]],
    }, "sizes.lua --report")
    assert.equal(1, row(out, "static functions of 8 lines or fewer with one call"), out)
    assert.equal(3, row(out, "fields of Conn"), out)
    assert.equal(1, row(out, "flags of Conn"), out)
    assert.equal(1, row(out, "state machines of HTTP connections"), out)
    assert.equal(1, row(out, "files in the root of lua/perigee"), out)
  end)

  it("may not be more than is allowed", function()
    local functions = {}
    for i = 1, 400 do
      functions[i] = ("static int f%d(void) { return 1; }\nint g%d(void) { return f%d(); }\n"):format(i, i, i)
    end
    local out = run(tree { ["src/base/many.c"] = table.concat(functions) }, "sizes.lua")
    assert.truthy(out:find "functions of 8 lines or fewer with one call: 400, and %d+ are allowed", out)
  end)
end)
