-- The picture so far, which late players and watchers get. Its size has a limit.
local rules = require "sketch.rules"

local picture = {}

-- Returns an empty picture. Its `number` counts the pieces of lines that pages have got, and never decreases.
function picture.new(number)
  return { number = number or 0, count = 0, lines = {} }
end

-- Adds a piece, and returns it with its number; returns nil if the piece has no points or the picture is
-- full.
function picture.add(of, piece)
  local count = #piece.points
  if count == 0 or of.count + count > rules.points then return nil end
  if piece.begins or #of.lines == 0 then
    table.insert(of.lines, { color = piece.color, size = piece.size, points = {} })
  end
  local points = of.lines[#of.lines].points
  for _, point in ipairs(piece.points) do table.insert(points, point) end
  of.count, of.number = of.count + count, of.number + 1
  piece.number = of.number
  return piece
end

function picture.clear(of)
  of.lines, of.count = {}, 0
end

-- Removes the last line.
function picture.undo(of)
  local line = table.remove(of.lines)
  if line then of.count = of.count - #line.points end
end

return picture
