#!/usr/bin/env bash
# Packs what a visit to a GPU machine needs into carry/ (ignored by git): built programs, the CUDA module, the shared libraries that the
# machine lacks, MNIST, CIFAR-10 and the peers' scripts where they are at hand, and compiled kernels, so that the visit's time goes to running them.
# usage: scripts/gpu_pack.sh BUILD_DIR [CACHE_DIR], the cache as this leaves it (about ten minutes):
#   TEGULA_CACHE_DIR=CACHE_DIR TEGULA_TEST_DEVICE=cuda scripts/kernels_offline.sh BUILD_DIR BUILD_DIR/tests/test_ops
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 cache=${2:-}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
strip -o "$stage/libtegula_cuda.so" "$build/libtegula_cuda.so"
for program in tests/test_{ops,compile,cuda,property} bench/bench_{gpu,sequences_gpu,start,mnist_race,cifar10} tegula tegula-nvrtc; do
  strip -o "$stage/$(basename "$program")" "$build/$program"
  ldd "$build/$program" | awk '$3 ~ /lib(dnnl|hwy|OpenCL|png|gtest|zstd|utf8proc|pcre2)/ {print $3}'
done | sort -u | while read -r library; do cp -L "$library" "$stage/"; done
data=$root/../shared/data
[ -d "$data/../peers" ] && cp -r "$data/../peers" "$stage/peers"
[ -d "$data/mnist" ] && cp -r "$data/mnist" "$stage/mnist"
cp "$data/cifar10-jpeg/cifar10-jpeg.tar.xz" "$stage" 2>/dev/null || echo "without CIFAR-10"
if [ -n "$cache" ]; then
  mkdir "$stage/kernels"
  find "$cache" -name '*.cubin' -exec cp -t "$stage/kernels" {} +
fi
mkdir -p "$root/carry"
tar -C "$stage" -c . | xz -4 -T0 >"$root/carry/pack.tar.xz"
ls -la "$root/carry"
