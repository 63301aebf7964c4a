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
      shards=$([ "$stage" = compile ] && echo 4 || echo 14)
      for ((shard = 0; shard < shards; shard++)); do
        TEGULA_TEST_DEVICE=cuda TEGULA_THREADS=1 GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard timeout 240 $work/test_$stage >"$OUT/$stage.$shard.log" 2>&1 &
      done
      wait
      cat "$OUT/$stage".*.log >"$OUT/$stage.log"
      echo "passed $(grep -ac '^\[       OK' "$OUT/$stage.log"), failed $(grep -ac '^\[  FAILED  \].*ms)' "$OUT/$stage.log"), shards that ended $(grep -ac 'tests from .* test suites* ran' "$OUT/$stage.log") of $shards"
      grep -a '^\[  FAILED  \].*ms)' "$OUT/$stage.log" | head -60 | cut -c1-160 ;;
    sanitize)
      for tool in memcheck racecheck initcheck; do
        TEGULA_TUNE=0 TEGULA_TEST_DEVICE=cuda timeout 280 compute-sanitizer --tool $tool $work/test_cuda --gtest_brief=1 --gtest_filter='CudaKernel*:Generated*' >"$OUT/$tool.log" 2>&1
        echo "$tool rc $?"; grep -aE "=====.*(ERROR|Invalid|hazard|Uninit)" "$OUT/$tool.log" | head -5
      done ;;
    bench*) timeout 400 $work/bench_gpu $(echo "${stage#bench}" | tr ':' ' ') 2>&1 | tee "$OUT/bench.log" ;;
    profile*)  # profile:prefix:first:count, time of each kernel of bench_gpu's case
      IFS=: read -r _ prefix first kernels <<<"$stage"
      timeout 200 ncu --graph-profiling node --metrics gpu__time_duration.sum,launch__grid_size,launch__registers_per_thread -s "$first" -c "$kernels" $work/bench_gpu $prefix >"$OUT/profile.$prefix.log" 2>&1
      python3 - "$OUT/profile.$prefix.log" <<'PY'
import re, sys
name, rows = None, []
for line in open(sys.argv[1], errors="replace"):
    head = re.match(r"\s{2}(\S.*?) \((\d+), \d+, \d+\)x\((\d+),", line)
    if head: name = head[1][:70]; rows.append([name, head[2], head[3], ""])
    value = re.match(r"\s+gpu__time_duration.sum\s+(\w+)\s+([\d.,]+)", line)
    if value and rows: rows[-1][3] = value[2] + " " + value[1]
for row in rows: print("%-72s grid %7s block %5s %12s" % tuple(row))
PY
      ;;
    mnist) timeout 120 $work/tegula train mnist-cnn --device cuda --data $work/mnist --out /tmp/m.safetensors --plot /tmp/m.png 2>&1 | tail -12 ;;
    *) echo "unknown stage $stage" ;;
  esac
done
