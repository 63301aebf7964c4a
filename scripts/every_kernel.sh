#!/usr/bin/env bash
# Compiles every kernel that the declared cases of all ops (with their gradients, in every dtype), random graphs in every mode, and training steps of the
# models ask for on an H200. No GPU is needed: the tests run on the pretended one of tests/cuda/driver, whose NVRTC keeps texts; then the real
# NVRTC compiles each distinct one. What compiled once is not compiled again (BUILD_DIR/kernels.txt).
# usage: scripts/every_kernel.sh BUILD_DIR [--sample] [--graphs N] [--seed S] [--run M]
#   N random graphs (200) from seed S (1) on are compiled; the kernels of M (none) are run, too, by the emulator, and compared with the reference
set -euo pipefail
build=$(cd "$1" && pwd)
shift
graphs=200 seed=1 run=0 modes= cases='*DeclaredCases*' models='*OnPaper.*'
while [ $# -gt 0 ]; do
  case $1 in
    --sample) graphs=2 modes=lazy,looks,jit-views cases='*/softmax:*/conv2d:*/conv2d_fft:*/cross_entropy' models='*AllOptimisers' ;;
    --graphs) graphs=$2; shift ;;
    --seed) seed=$2; shift ;;
    --run) run=$2; shift ;;
    *) echo "unknown: $1" >&2; exit 2 ;;
  esac
  shift
done
processes=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/kernels"

# paper NAME PROGRAM FILTER [VARIABLE=value…]: a test program on the pretended GPU. Its list of launches is of no interest.
paper() {
  local name=$1 program=$2 filter=$3
  shift 3
  env LD_LIBRARY_PATH="$build/tests/driver:$build/tests/driver/libraries:$build/tests/driver/compiler" TEGULA_FAKE_DRIVER=paper TEGULA_TEST_DEVICE=cuda \
    TEGULA_KERNELS="$work/kernels" TEGULA_CACHE_DIR= XDG_CACHE_HOME= HOME= TEGULA_COMPILERS=0 TEGULA_CHECK= OMP_NUM_THREADS=1 "$@" \
    "$build/tests/$program" --gtest_brief=1 --gtest_filter="$filter" >"$work/$name.log" 2>/dev/null || { echo "$name:"; tail -50 "$work/$name.log"; return 1; }
}

failed=0 pids=()
paper cases test_ops "$cases" & pids+=($!)
paper models test_models "$models" & pids+=($!)
each=$(((graphs + processes - 1) / processes))
for ((i = 0; i < processes; ++i)); do
  paper "graphs.$i" test_property '*AreMadeOnPaper' TEGULA_SEED=$((seed + i * each)) TEGULA_GRAPHS=$each TEGULA_MODES="$modes" & pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
[ $failed = 0 ] || exit 1
status=0
"$build/tests/compile_kernels" "$work/kernels" "$build/kernels.txt" || status=$?
rm -rf "$build/kernels.failed"
[ ! -d "$work/kernels/failed" ] || { cp -r "$work/kernels/failed" "$build/kernels.failed"; echo "kept in $build/kernels.failed"; }

each=$(((run + processes - 1) / processes)) pids=()
for ((i = 0; each > 0 && i < processes; ++i)); do
  TEGULA_TEST_DEVICE=emulated-queue TEGULA_SEED=$((seed + i * each)) TEGULA_TOGETHER=$each OMP_NUM_THREADS=1 \
    "$build/tests/test_property" --gtest_brief=1 --gtest_filter='*AgreeTogether' >"$work/run.$i.log" 2>&1 & pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
[ $each = 0 ] || grep -hE -A40 'outcomes of|TEGULA_SEED' "$work"/run.*.log
exit $status
