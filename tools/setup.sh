#!/usr/bin/env bash
# Installs the distribution packages that are missing. Says what it does; does nothing when all are there.
# usage: tools/setup.sh build|test
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  build) lists=(tools/packages.txt) ;;
  test) lists=(tools/packages.txt tools/packages-test.txt) ;;
  *) sed -n 2,3p "$0"; exit 2 ;;
esac

is_installed() {
  case "$1" in
    command:*) command -v "${1#command:}" >/dev/null ;;
    *) [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ] ;;
  esac
}

missing_lines() {  # prints each list line of which no alternative is installed
  local line name found
  while read -r line; do
    found=0
    for name in ${line//|/ }; do if is_installed "$name"; then found=1; fi; done
    [ $found = 1 ] || echo "$line"
  done < <(cat "${lists[@]}" | sed 's/#.*//' | awk 'NF')
}

mapfile -t missing < <(missing_lines)
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this needs Debian 12 or Ubuntu 24.04 (apt-get); missing: ${missing[*]}" >&2
  exit 2
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "setup: run as root or install sudo; missing: ${missing[*]}" >&2; exit 2; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
echo "setup: updating the package index"
"${as_root[@]}" apt-get update -qq

names=()
for line in "${missing[@]}"; do
  chosen=
  for name in ${line//|/ }; do
    case "$name" in command:*) continue ;; esac
    if [ -z "$chosen" ] && apt-cache show "$name" >/dev/null 2>&1; then chosen=$name; fi
  done
  [ -n "$chosen" ] || { echo "setup: this distribution has none of: $line" >&2; exit 2; }
  names+=("$chosen")
done
echo "setup: installing ${names[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${names[@]}" >/dev/null
