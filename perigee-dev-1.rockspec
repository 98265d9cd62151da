rockspec_format = "3.0"
package = "perigee"
version = "dev-1"
source = { url = "git+file://." }
description = {
  summary = "Client of the Perigee game relay server",
  detailed = "Connects games, bots and tools written in Lua to a Perigee server.",
  license = "MIT",
}
-- lua-cjson is wanted too, but not named: whoever has it from the distribution need not fetch and
-- build it again, and the client says when it is missing.
dependencies = { "lua >= 5.1, < 5.2" }
external_dependencies = { SODIUM = { header = "sodium.h", library = "sodium" } }
build = {
  type = "builtin",
  modules = {
    ["perigee.client.core"] = {
      sources = {
        "clients/lua/bare.c", "clients/lua/calls.c", "clients/lua/core.c", "clients/lua/events.c",
        "clients/lua/lockstep.c", "clients/lua/wait.c", "clients/c/channels.c",
        "clients/c/client.c", "clients/c/datagrams.c", "clients/c/driver.c", "clients/c/events.c",
        "clients/c/info.c", "clients/c/link.c", "clients/c/link_udp.c", "clients/c/lockstep.c",
        "clients/c/lockstep_calls.c", "clients/c/messages.c", "clients/c/os.c", "clients/c/poll.c",
        "clients/c/requests.c", "clients/c/rooms.c", "clients/c/send.c", "clients/c/take.c",
        "clients/c/take_rooms.c", "src/base/array.c", "src/base/blob.c", "src/base/buf.c",
        "src/base/hash.c", "src/base/mem.c", "src/base/names.c", "src/base/text.c",
        "src/base/timers.c", "src/wire/code.c", "src/wire/control.c", "src/wire/json.c",
        "src/wire/message.c", "src/wire/packet.c", "src/wire/reader.c", "src/wire/reliable.c",
        "src/wire/udp/ack.c", "src/wire/udp/body.c", "src/wire/udp/handshake.c",
        "src/wire/udp/keys.c", "src/wire/udp/latest.c", "src/wire/udp/link.c",
        "src/wire/udp/loss.c", "src/wire/udp/produce.c", "src/wire/udp/queue.c",
        "src/wire/udp/ranges.c", "src/wire/udp/rate.c", "src/wire/udp/receive.c",
        "src/wire/udp/sent.c", "src/wire/udp/stream.c", "src/wire/udp/window.c",
      },
      incdirs = { "include", "src", "clients/c", "clients/lua", "$(SODIUM_INCDIR)" },
      libdirs = { "$(SODIUM_LIBDIR)" },
      libraries = { "sodium" },
      defines = { "_DEFAULT_SOURCE", "_POSIX_C_SOURCE=200809L" },
    },
    ["perigee.client"] = "lua/perigee/client.lua",
    ["perigee.native"] = "lua/perigee/native.lua",
    ["perigee.schema"] = "lua/perigee/schema.lua",
    ["perigee.client.address"] = "lua/perigee/client/address.lua",
    ["perigee.client.calls"] = "lua/perigee/client/calls.lua",
    ["perigee.client.channel"] = "lua/perigee/client/channel.lua",
    ["perigee.client.dependency"] = "lua/perigee/client/dependency.lua",
    ["perigee.client.json"] = "lua/perigee/client/json.lua",
    ["perigee.client.lockstep"] = "lua/perigee/client/lockstep.lua",
    ["perigee.client.loop"] = "lua/perigee/client/loop.lua",
    ["perigee.client.methods"] = "lua/perigee/client/methods.lua",
    ["perigee.client.options"] = "lua/perigee/client/options.lua",
    ["perigee.client.room"] = "lua/perigee/client/room.lua",
    ["perigee.client.schema"] = "lua/perigee/client/schema.lua",
    ["perigee.client.timers"] = "lua/perigee/client/timers.lua",
    ["perigee.util.class"] = "lua/perigee/util/class.lua",
    ["perigee.util.describe"] = "lua/perigee/util/describe.lua",
    ["perigee.util.fault"] = "lua/perigee/util/fault.lua",
    ["perigee.util.iterate"] = "lua/perigee/util/iterate.lua",
    ["perigee.util.json_text"] = "lua/perigee/util/json_text.lua",
    ["perigee.util.sorted_keys"] = "lua/perigee/util/sorted_keys.lua",
    ["perigee.util.unsendable"] = "lua/perigee/util/unsendable.lua",
    ["perigee.schema.canonical"] = "lua/perigee/schema/canonical.lua",
    ["perigee.schema.codec"] = "lua/perigee/schema/codec.lua",
    ["perigee.schema.decoder"] = "lua/perigee/schema/decoder.lua",
    ["perigee.schema.encoder"] = "lua/perigee/schema/encoder.lua",
    ["perigee.schema.fault"] = "lua/perigee/schema/fault.lua",
    ["perigee.schema.generator"] = "lua/perigee/schema/generator.lua",
    ["perigee.schema.layout"] = "lua/perigee/schema/layout.lua",
    ["perigee.schema.lua_dialect"] = "lua/perigee/schema/lua_dialect.lua",
    ["perigee.schema.names"] = "lua/perigee/schema/names.lua",
    ["perigee.schema.reader"] = "lua/perigee/schema/reader.lua",
    ["perigee.schema.types"] = "lua/perigee/schema/types.lua",
    ["perigee.schema.words"] = "lua/perigee/schema/words.lua",
  },
}
