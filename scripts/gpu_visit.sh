#!/usr/bin/env bash
# Runs on the GPU machine, from the repository root, with carry/ as scripts/gpu_pack.sh left it.
# usage: scripts/gpu_visit.sh stage… with stages: info, cuda, ops, sanitize, bench[:prefix…], peers, mnist. Logs go to $OUT.
set -uo pipefail
OUT=${OUT:-out}
mkdir -p "$OUT"
work=/tmp/tegula-visit
if [ ! -d $work ]; then
  mkdir -p $work
  tar -C $work -xzf carry/pack.tar.gz
fi
site=$(python3 -c 'import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null)
for folder in "$site"/nvidia/*/lib /usr/local/cuda/lib64; do LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$folder"; done
export LD_LIBRARY_PATH=$work:$LD_LIBRARY_PATH
export TEGULA_CUDA_LIBRARY=$work/libtegula_cuda.so TEGULA_CACHE_DIR=/tmp/tegula-cache

# The end of a test log: failures and the closing lines.
brief() { grep -aE "FAILED|PASSED|SKIPPED|Failure|Error|error" "$1" | grep -av " ok " | head -${2:-40} | cut -c1-300; }

for stage in "$@"; do
  echo "=== $stage ($(date +%T))"
  case $stage in
    info) nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; ldd $work/test_ops | grep "not found" ;;
    cuda) timeout 300 $work/test_cuda --gtest_brief=1 >"$OUT/cuda.log" 2>&1; echo "rc $?"; brief "$OUT/cuda.log" 60 ;;
    ops|compile|nn|optim|train)
      TEGULA_TEST_DEVICE=cuda timeout 500 $work/test_$stage --gtest_brief=1 >"$OUT/$stage.log" 2>&1; echo "rc $?"; brief "$OUT/$stage.log" 40 ;;
    sanitize)
      for tool in memcheck racecheck initcheck; do
        TEGULA_TEST_DEVICE=cuda timeout 280 compute-sanitizer --tool $tool $work/test_cuda --gtest_brief=1 --gtest_filter='CudaKernel*:Generated*' >"$OUT/$tool.log" 2>&1
        echo "$tool rc $?"; grep -aE "=====.*(ERROR|Invalid|hazard|Uninit)" "$OUT/$tool.log" | head -5
      done ;;
    bench*) timeout 400 $work/bench_gpu $(echo "${stage#bench}" | tr ':' ' ') 2>&1 | tee "$OUT/bench.log" ;;
    mnist) timeout 120 $work/tegula train mnist-cnn --device cuda --data $work/mnist --out /tmp/m.safetensors --plot /tmp/m.png 2>&1 | tail -12 ;;
    *) echo "unknown stage $stage" ;;
  esac
done
