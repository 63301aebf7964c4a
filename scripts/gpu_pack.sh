#!/usr/bin/env bash
# Packs what a visit to a GPU machine needs into carry/ (ignored by git): built programs, the CUDA module, the shared libraries that
# machine lacks, MNIST when it is at hand. usage: scripts/gpu_pack.sh BUILD_DIR [program…]; default: tests, benchmarks, command line.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
programs=("$@")
if [ ${#programs[@]} -eq 0 ]; then
  for candidate in tests/test_ops tests/test_compile tests/test_nn tests/test_optim tests/test_train tests/test_cuda bench/bench_gpu tegula; do
    [ -x "$build/$candidate" ] && programs+=("$candidate")
  done
fi
for program in "${programs[@]}"; do
  strip -o "$stage/$(basename "$program")" "$build/$program"
done
strip -o "$stage/libtegula_cuda.so" "$build/libtegula_cuda.so"
for program in "${programs[@]}"; do
  ldd "$build/$program" | awk '$3 ~ /lib(dnnl|hwy|OpenCL|png|gtest|zstd)/ {print $3}'
done | sort -u | while read -r library; do cp -L "$library" "$stage/"; done
[ -d "$root/../shared/data/mnist" ] && cp -r "$root/../shared/data/mnist" "$stage/mnist"
mkdir -p "$root/carry"
rm -f "$root/carry/pack.tar.gz"
tar -C "$stage" -czf "$root/carry/pack.tar.gz" .
ls -la "$root/carry"
