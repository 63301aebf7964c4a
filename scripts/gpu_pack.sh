#!/usr/bin/env bash
# Packs what a visit to a GPU machine needs into carry/ (ignored by git): built programs, the CUDA module, the shared libraries that the
# machine lacks, MNIST, CIFAR-10 and the peers' scripts where they are at hand, and compiled kernels, so that the visit's time goes to running them.
# $PROGRAMS: those of the build folder that are wanted (all), then without data but what $WITH names (cifar, text). usage: scripts/gpu_pack.sh BUILD_DIR [CACHE_DIR], the cache as this leaves it (about ten minutes):
#   TEGULA_CACHE_DIR=CACHE_DIR TEGULA_TEST_DEVICE=cuda scripts/kernels_offline.sh BUILD_DIR BUILD_DIR/tests/test_ops
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 cache=${2:-}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
strip -o "$stage/libtegula_cuda.so" "$build/libtegula_cuda.so"
[ ! -e "$build/bench/libkernel_trace.so" ] || cp "$build/bench/libkernel_trace.so" "$stage"
all=$(echo tests/test_{ops,compile,cuda,property,dist} bench/bench_{gpu,sequences_gpu,loops,nets,start,mnist_race,cifar10,collectives})
for program in ${PROGRAMS:-$all} tegula tegula-nvrtc; do
  strip -o "$stage/$(basename "$program")" "$build/$program"
  ldd "$build/$program" | awk '$3 ~ /lib(dnnl|hwy|OpenCL|png|jpeg|gtest|zstd|utf8proc|pcre2|csv|crypto|protobuf)/ {print $3}'
done | sort -u | while read -r library; do cp -L "$library" "$stage/"; done
data=$root/../shared/data
[ -d "$data/../peers" ] && cp -r "$data/../peers" "$stage/peers"
[ -d "$data/mnist" ] && cp -r "$data/mnist" "$stage/mnist"
wanted() { [ -z "${PROGRAMS:-}" ] || [[ " ${WITH:-} " == *" $1 "* ]]; }
! wanted cifar || cp "$data/cifar10-jpeg/cifar10-jpeg.tar.xz" "$stage" 2>/dev/null || echo "without CIFAR-10"
# What scripts/gpu_learn.sh trains on: some 10 MB of the pack. The last hundredth of the books is for validation.
if wanted text && [ -d "$data/corpus-gutenberg" ]; then
  mkdir "$stage/text"
  cp "$data"/tinyshakespeare/input.txt "$data"/multi30k/*.gz "$data"/text-classification/sent-conv/stsa.binary.* "$stage/text"
  xz -dc "$data"/corpus-gutenberg/*.txt.xz >"$stage/text/all.txt"
  head -c 24282000 "$stage/text/all.txt" | iconv -c -f utf-8 -t utf-8 >"$stage/text/books.txt"
  tail -c 242000 "$stage/text/all.txt" | iconv -c -f utf-8 -t utf-8 >"$stage/text/books.valid.txt"
  rm "$stage/text/all.txt"
  for part in valid test; do cp "$data/wikitext-2/$part.txt" "$stage/text/wiki.$part.txt"; done
  cut -d' ' -f2- "$data/text-classification/sent-conv/stsa.fine.train" >"$stage/text/sst.txt"
fi
if [ -n "$cache" ]; then
  mkdir "$stage/kernels"
  find "$cache" -name '*.cubin' -exec cp -t "$stage/kernels" {} +
fi
mkdir -p "$root/carry"
tar -C "$stage" -c . | xz --lzma2=preset=1,dict=64MiB >"$root/carry/pack.tar.xz"
ls -la "$root/carry"
