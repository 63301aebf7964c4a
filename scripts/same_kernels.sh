#!/usr/bin/env bash
# Whether a change of the code generator leaves every kernel as it is: a kernel's name is the hash of its text without comments, and equal lists of names are equal kernels.
# usage: scripts/same_kernels.sh BUILD_DIR record FOLDER [--graphs N] [--seed S]
#          what the declared cases of all ops, the models and N random graphs (200) ask the generator for, into FOLDER; no GPU is needed
#        scripts/same_kernels.sh BUILD_DIR list FOLDER > NAMES     a line for each distinct kernel (seconds)
#        scripts/same_kernels.sh BUILD_DIR compare FOLDER NAMES    exit status 1, and what differs, where the lists are not equal
set -euo pipefail
build=$(cd "$1" && pwd) verb=$2 folder=$3
shift 3

# paper PROGRAM FILTER [VARIABLE=value…]: a test program on the pretended GPU, whose CUDA machine keeps what it asks the generator for.
paper() {
  local program=$1 filter=$2
  shift 2
  env LD_LIBRARY_PATH="$build/tests/driver:$build/tests/driver/libraries:$build/tests/driver/compiler" TEGULA_FAKE_DRIVER=paper TEGULA_TEST_DEVICE=cuda \
    TEGULA_CUDA_LIBRARY="$build/tests/driver/libtegula_cuda_recorded.so" TEGULA_REQUESTS="$folder" TEGULA_KERNELS="$texts" TEGULA_CACHE_DIR= XDG_CACHE_HOME= \
    HOME= TEGULA_COMPILERS=0 TEGULA_CHECK= OMP_NUM_THREADS=1 "$@" "$build/tests/$program" --gtest_brief=1 --gtest_filter="$filter" >/dev/null
}

case $verb in
  record)
    graphs=200 seed=1
    while [ $# -gt 0 ]; do
      case $1 in
        --graphs) graphs=$2; shift ;;
        --seed) seed=$2; shift ;;
        *) echo "unknown: $1" >&2; exit 2 ;;
      esac
      shift
    done
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd) texts=$(mktemp -d)
    trap 'rm -rf "$texts"' EXIT
    paper test_ops '*DeclaredCases*'
    paper test_models '*OnPaper.*'
    paper test_property '*AreMadeOnPaper' TEGULA_SEED="$seed" TEGULA_GRAPHS="$graphs"
    "$build/tests/regenerate" "$folder" >/dev/null ;;
  list) "$build/tests/regenerate" "$folder" ;;
  compare) diff "$1" <("$build/tests/regenerate" "$folder") && echo "the same kernels" ;;
  *) echo "unknown: $verb" >&2; exit 2 ;;
esac
