#!/usr/bin/env bash
# Configures (once) and builds one preset of CMakePresets.json.
# usage: tools/build.sh PRESET [CMAKE_TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
if [ ! -f "build/$preset/build.ninja" ]; then
  mkdir -p "build/$preset"
  echo "build: configuring $preset"
  cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 || { cat "build/$preset/configure.log" >&2; exit 2; }
fi
targets=()
for target in "$@"; do targets+=(--target "$target"); done
cmake --build "build/$preset" "${targets[@]}"
