if at + 28 > cap then p, cap = grow(at, 28) end
do local w
if type(x) ~= 'table' then bad(x, 1) end
do
local x1 = rawget(x, "at")
if type(x1) ~= 'table' then bad(x1, 2) end
do
local x2 = rawget(x1, "x")
if type(x2) ~= 'number' or not (x2 >= 0 and x2 <= 100) then bad(x2, 3) end
local n3 = floor(x2 * 4 + 0.5) + -0
w = tobit(n3)
end
do
local x4 = rawget(x1, "y")
if type(x4) ~= 'number' or not (x4 >= 0 and x4 <= 100) then bad(x4, 4) end
local n5 = floor(x4 * 4 + 0.5) + -0
w = bor(w, lshift(n5, 9))
end
end
do
local x6 = rawget(x, "mode")
local n7 = INDEXES[1][x6]
if not n7 then bad(x6, 5) end
w = bor(w, lshift(n7, 18))
end
do
local x8 = rawget(x, "fast")
w = bor(w, lshift(x8 ~= nil and 1 or 0, 20))
end
do
local x9 = rawget(x, "seen")
if type(x9) ~= 'table' or #x9 ~= 3 then bad(x9, 6) end
do
local x10 = rawget(x9, 1)
if type(x10) ~= 'boolean' then bad(x10, 7) end
w = bor(w, lshift(x10 and 1 or 0, 21))
end
do
local x11 = rawget(x9, 2)
if type(x11) ~= 'boolean' then bad(x11, 8) end
w = bor(w, lshift(x11 and 1 or 0, 22))
end
do
local x12 = rawget(x9, 3)
if type(x12) ~= 'boolean' then bad(x12, 9) end
w = bor(w, lshift(x12 and 1 or 0, 23))
end
end
cast(i32, p + at + 0)[0] = w
end
do
local x13 = rawget(x, "id")
at = at + 3
if type(x13) ~= 'number' or not (x13 >= 0 and x13 <= 9007199254740991 and floor(x13) == x13) then bad(x13, 10) end
if x13 < 128 then p[at] = x13; at = at + 1 else at = put_varint(p, at, x13) end
if at + 24 > cap then p, cap = grow(at, 24) end
end
do
local x14 = rawget(x, "wide")
if type(x14) ~= 'number' or not (x14 >= -9007199254740991 and x14 <= 9007199254740991 and floor(x14) == x14) then bad(x14, 11) end
put_long(p + at, x14)
end
do
local x15 = rawget(x, "fast")
at = at + 8
if x15 ~= nil then
if at + 12 > cap then p, cap = grow(at, 12) end
if type(x15) ~= 'number' or not (x15 >= -F32_MAX and x15 <= F32_MAX) then bad(x15, 12) end
cast(f32, p + at)[0] = x15
at = at + 4
end
if at + 8 > cap then p, cap = grow(at, 8) end
end
do
local x16 = rawget(x, "path")
if type(x16) ~= 'table' or #x16 ~= 9 then bad(x16, 13) end
for k17 = 1, 9 do
local x18 = rawget(x16, k17)
if at + 10 > cap then p, cap = grow(at, 10) end
if type(x18) ~= 'number' or not (x18 >= 0 and x18 <= 65535 and floor(x18) == x18) then bad(x18, 14, k17) end
cast(u16, p + at)[0] = x18
at = at + 2
end
end

local x1 = { ["id"] = 0, ["at"] = { ["x"] = 0, ["y"] = 0 }, ["mode"] = 0, ["wide"] = 0, ["fast"] = nil, ["seen"] = { 0, 0, 0 }, ["path"] = 0 }
if at + 3 > size then return short(1) end
do local w
do
local t2 = x1["at"]
do
w = p[at + 0] + p[at + 1] * 256 + p[at + 2] * 65536
local n3 = band(w, 511)
if n3 > 400 then return wrong(2) end
t2["x"] = (n3 + 0) / 4
end
do
local n4 = band(rshift(w, 9), 511)
if n4 > 400 then return wrong(3) end
t2["y"] = (n4 + 0) / 4
end
end
do
local n5 = band(rshift(w, 18), 3)
if n5 > 2 then return wrong(4) end
x1["mode"] = ENUMS[1][n5 + 1]
end
do
local n7 = band(rshift(w, 20), 1)
x1["fast"] = n7 ~= 0 or nil
end
do
local t8 = x1["seen"]
do
local n9 = band(rshift(w, 21), 1)
t8[1] = n9 ~= 0
end
do
local n10 = band(rshift(w, 22), 1)
t8[2] = n10 ~= 0
end
do
local n11 = band(rshift(w, 23), 1)
t8[3] = n11 ~= 0
end
end
end
do
at = at + 3
if at >= size then return short(5) end
local n12 = p[at]
if n12 < 128 then at = at + 1 else n12, at = get_varint(p, at, size)
if not n12 then return wrong(5) end end
x1["id"] = n12
end
do
if at + 8 > size then return short(6) end
local n13 = cast(i32, p + at + 4)[0] * 4294967296 + cast(u32, p + at + 0)[0]
if not (n13 >= -9007199254740991 and n13 <= 9007199254740991) then return wrong(7) end
x1["wide"] = n13
end
do
at = at + 8
if x1["fast"] then
local x14 = nil
do
if at + 4 > size then return short(8) end
if band(cast(i32, p + at)[0], 0x7f800000) == 0x7f800000 then return wrong(9) end
local n15 = cast(f32, p + at)[0]
x14 = n15
end
at = at + 4
x1["fast"] = x14
end
end
do
if at + 9 > size then return short(10) end
local t16 = new_list(9, 0)
for k17 = 1, 9 do
local x18 = nil
do
if at + 2 > size then return short(11, k17) end
x18 = cast(u16, p + at)[0]
end
at = at + 2
t16[k17] = x18
end
x1["path"] = t16
end
if at ~= size then return more() end
do return true, x1 end

if at + 20 > cap then p, cap = grow(at, 20) end
if type(x) ~= 'table' then bad(x, 1) end
do
local x1 = rawget(x, "text")
if type(x1) ~= 'string' or #x1 > 200 or not is_utf8(x1) then bad(x1, 2) end
if at + #x1 + 28 > cap then p, cap = grow(at, #x1 + 28) end
if #x1 < 128 then p[at] = #x1; at = at + 1 else at = put_varint(p, at, #x1) end
copy(p + at, x1, #x1); at = at + #x1
end
do
local x2 = rawget(x, "raw")
if type(x2) ~= 'string' or #x2 > 65535 then bad(x2, 3) end
if at + #x2 + 20 > cap then p, cap = grow(at, #x2 + 20) end
if #x2 < 128 then p[at] = #x2; at = at + 1 else at = put_varint(p, at, #x2) end
copy(p + at, x2, #x2); at = at + #x2
end
do
local x3 = rawget(x, "to")
if type(x3) ~= 'table' then bad(x3, 4) end
local n4 = #x3
if n4 > 4 or n4 == 0 and next(x3) ~= nil then bad(x3, 4) end
if n4 < 128 then p[at] = n4; at = at + 1 else at = put_varint(p, at, n4) end
for k5 = 1, n4 do
local x6 = rawget(x3, k5)
if at + 12 > cap then p, cap = grow(at, 12) end
do local w
if type(x6) ~= 'table' then bad(x6, 5, k5) end
do
local x7 = rawget(x6, "x")
if type(x7) ~= 'number' or not (x7 >= 0 and x7 <= 100) then bad(x7, 6, k5) end
local n8 = floor(x7 * 4 + 0.5) + -0
w = tobit(n8)
end
do
local x9 = rawget(x6, "y")
if type(x9) ~= 'number' or not (x9 >= 0 and x9 <= 100) then bad(x9, 7, k5) end
local n10 = floor(x9 * 4 + 0.5) + -0
w = bor(w, lshift(n10, 9))
end
cast(i32, p + at + 0)[0] = w
end
at = at + 3
end
end

local x1 = { ["text"] = 0, ["raw"] = 0, ["to"] = 0 }
do
if at >= size then return short(1) end
local n2 = p[at]
if n2 < 128 then at = at + 1 else n2, at = get_varint(p, at, size)
if not n2 then return wrong(1) end end
if n2 > 200 or n2 > size - at then return wrong(2) end
local n2 = sub(body, at + 1, at + n2)
at = at + #n2
if not is_utf8(n2) then return wrong(2) end
x1["text"] = n2
end
do
if at >= size then return short(3) end
local n3 = p[at]
if n3 < 128 then at = at + 1 else n3, at = get_varint(p, at, size)
if not n3 then return wrong(3) end end
if n3 > 65535 or n3 > size - at then return wrong(4) end
local n3 = sub(body, at + 1, at + n3)
at = at + #n3
x1["raw"] = n3
end
do
if at >= size then return short(5) end
local n4 = p[at]
if n4 < 128 then at = at + 1 else n4, at = get_varint(p, at, size)
if not n4 then return wrong(5) end end
if n4 > 4 or n4 > size - at then return wrong(6) end
local t5 = new_list(n4, 0)
for k6 = 1, n4 do
local x7 = { ["x"] = 0, ["y"] = 0 }
if at + 3 > size then return short(7, k6) end
do local w
do
w = p[at + 0] + p[at + 1] * 256 + p[at + 2] * 65536
local n8 = band(w, 511)
if n8 > 400 then return wrong(8, k6) end
x7["x"] = (n8 + 0) / 4
end
do
local n9 = band(rshift(w, 9), 511)
if n9 > 400 then return wrong(9, k6) end
x7["y"] = (n9 + 0) / 4
end
if rshift(w, 18) ~= 0 then return wrong(10, k6) end
end
at = at + 3
t5[k6] = x7
end
x1["to"] = t5
end
if at ~= size then return more() end
do return true, x1 end

if at + 12 > cap then p, cap = grow(at, 12) end
do local w
if type(x) ~= 'boolean' then bad(x, 1) end
w = tobit(x and 1 or 0)
cast(i32, p + at + 0)[0] = w
end
at = at + 1

local x1 = nil
if at + 1 > size then return short(1) end
do local w
do
w = p[at + 0]
local n2 = band(w, 1)
x1 = n2 ~= 0
end
if rshift(w, 1) ~= 0 then return wrong(2) end
end
at = at + 1
if at ~= size then return more() end
do return true, x1 end

