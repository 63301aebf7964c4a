#!/usr/bin/env bash
# Builds and runs the tests under AddressSanitizer + UBSan, then under ThreadSanitizer.
# Usage: scripts/sanitize.sh [asan|tsan] [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

presets=(asan tsan)
case "${1:-}" in
  asan | tsan) presets=("$1"); shift ;;
esac

bash scripts/setup.sh
for preset in "${presets[@]}"; do
  compiler=()
  if [ "$preset" = tsan ] && [ ! -f build/tsan/CMakeCache.txt ] && command -v clang++-19 > /dev/null; then
    compiler=(-D CMAKE_CXX_COMPILER=clang++-19)
  fi
  cmake --preset "$preset" "${compiler[@]}"
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --preset "$preset" -j "$(nproc)" "$@"
done
