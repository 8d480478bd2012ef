#!/usr/bin/env bash
# Builds and runs the tests. The last line is ctest's.
# usage: tools/run_tests.sh [full]      full: also ThreadSanitizer, long and stress tests
set -euo pipefail
cd "$(dirname "$0")/.."
full=${1:-}

tools/build.sh release
tools/build.sh dev all all_verify_interface_header_sets
PACELINE_TEST_MODEL=$(python3 tools/get_model.py)
export PACELINE_TEST_MODEL

if [ "$full" = full ]; then
  threaded=(base_test engine_test http_test integration_test)
  tools/build.sh tsan "${threaded[@]}"
  for program in "${threaded[@]}"; do
    # Without address-space randomisation: newer kernels place mappings where ThreadSanitizer wants its shadow.
    setarch -R "build/tsan/tests/${program%_test}/$program"
  done
  exec ctest --test-dir build/dev --output-on-failure -j 2
fi
exec ctest --test-dir build/dev --output-on-failure -LE slow -j 2
