#!/usr/bin/env bash
# How many players a core can serve, for three kinds of games: a relay, a game on the server (examples/arena), and
# lockstep. Each row has the server's processor time a player, the median of the rounds. The server has the first
# core, the bots have the second.
#   tests/bench/sizing.sh BINARY SECONDS ROUNDS
set -euo pipefail
binary=$1 seconds=$2 rounds=$3 games=tests/bench/games/sizing
server=
folder=$(mktemp -d)
# Ends the server that runs, and nothing else.
finish() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

# Prints the nanoseconds for which the server has run.
cpu_ns() { cat /proc/"$server"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d", sum }'; }

# Prints the share of a core, in percent, that the server takes for that number of players.
measure() {
  local game=$1 script=$2 players=$3 before bots
  taskset -c 0 "$binary" run "$game" --prod --port 0 --no-admin --store :memory: >"$folder/out" 2>"$folder/err" &
  server=$!
  until grep -q '^perigee: ready' "$folder/out"; do
    kill -0 "$server" || { cat "$folder/err" >&2; exit 1; }
    sleep 0.05
  done
  local port
  port=$(sed -n 's/^perigee: serving .*:\([0-9]*\)$/\1/p' "$folder/out")
  taskset -c 1 "$binary" bots "127.0.0.1:$port" -n "$players" --script "$script" --ramp 2 \
    --seconds "$(awk -v s="$seconds" 'BEGIN { print s + 5 }')" >"$folder/bots" 2>&1 &
  bots=$!
  sleep 4
  before=$(cpu_ns)
  sleep "$seconds"
  awk -v ns=$(($(cpu_ns) - before)) -v s="$seconds" 'BEGIN { printf "%.2f\n", ns / 1e7 / s }'
  wait "$bots" || { tail -5 "$folder/bots" >&2; exit 1; }
  kill "$server"
  wait "$server" || true
  server=
}

row() {
  local name=$1 game=$2 script=$3 players=$4 shares=()
  for _ in $(seq "$rounds"); do
    shares+=("$(measure "$game" "$script" "$players")")
    printf '%s: %s players, %s %% of a core\n' "$name" "$players" "${shares[-1]}" >&2
  done
  printf '%s\n' "${shares[@]}" | sort -n | awk -v name="$name" -v players="$players" '
    { share[NR] = $1 }
    END {
      median = share[int((NR + 1) / 2)]
      printf "| %s | %d | %.1f %% | %.0f µs | %d |\n", name, players, median, median * 1e4 / players, players * 50 / median
    }'
}

echo "| game | players | of a core | per player and second | players at half a core |"
echo "|---|---|---|---|---|"
row "relay: rooms of 10, 10 broadcasts a second from each" $games $games/relay.lua 500
row "on the server: the arena, rooms of 12, 20 inputs and snapshots a second" examples/arena examples/arena/player.lua 120
row "lockstep: matches of 4, 20 turns a second" $games $games/match.lua 200
