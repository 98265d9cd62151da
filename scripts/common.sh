# shellcheck shell=bash
# Sourced by the other scripts: stops at the first failure, goes to the root of the project.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints a command and runs it.
run() {
  printf '> %s\n' "$*" >&2
  "$@"
}
