#!/usr/bin/env bash
# Runs bench_store_boards for scripts/bench boards, and a Redis server of its own for the
# comparison.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

build=${BENCH_BUILD:-build/release}
if [[ -z ${BENCH_BUILD:-} ]]; then
  scripts/setup bench
  scripts/build release bench_store_boards >&2
fi
work=$(mktemp -d)
redis=
trap '[[ -z $redis ]] || kill "$redis"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
socket=()
if command -v redis-server >/dev/null; then
  redis-server --port 0 --unixsocket "$work/redis" --save "" >"$work/redis.log" &
  redis=$!
  until [[ -S $work/redis ]]; do
    kill -0 "$redis" || { cat "$work/redis.log" >&2; exit 1; }
    sleep 0.05
  done
  socket=("$work/redis")
else
  echo "Without Redis, because redis-server is not installed (Debian: redis-server)." >&2
fi
"$build/tests/bench/bench_store_boards" "$work" "${ENTRIES:-1000000}" "${socket[@]}"
