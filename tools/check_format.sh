#!/usr/bin/env bash
# Fails when a C++ source is not formatted as .clang-format says; names the files.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t bad < <(git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*Wclang-format-violations.*/\1/p' | sort -u)
if [ ${#bad[@]} -gt 0 ]; then
  printf 'not formatted (make format): %s\n' "${bad[@]}" >&2
  exit 1
fi
