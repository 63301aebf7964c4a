#!/usr/bin/env bash
# Runs a program on a GPU that is only pretended (tests/cuda/driver): NVRTC compiles what would run, launches are listed on stderr, results
# mean nothing. usage: scripts/kernels_offline.sh BUILD_DIR command…, as in
#   scripts/kernels_offline.sh build/release build/release/tegula kernel show softmax --shape 8192x8192 --dtype bf16 --device cuda
# Code is kept in /tmp/tegula-offline (TEGULA_CACHE_DIR) as .elf: registers and spills come after the run, `cuobjdump -sass` shows it.
# Matrix products and convolutions show as plain kernels.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
export TEGULA_CACHE_DIR=${TEGULA_CACHE_DIR:-/tmp/tegula-offline/$$} TEGULA_FAKE_DRIVER=paper LD_LIBRARY_PATH=$build/tests/driver:$build/tests/driver/libraries
mkdir -p "$TEGULA_CACHE_DIR"
"$@" || echo "rc $?"
cd "$TEGULA_CACHE_DIR"
for kept in *.cubin; do
  [ -f "$kept" ] || continue
  tail -n +2 "$kept" >"${kept%.cubin}.elf"  # without the line before it
  if command -v cuobjdump >/dev/null; then
    cuobjdump --dump-resource-usage "${kept%.cubin}.elf" | awk '/Function/ {name = $2} /REG:/ {print name, $0}' | sed 's/ *CONSTANT.*//'
  fi
done
echo "code: $TEGULA_CACHE_DIR"
