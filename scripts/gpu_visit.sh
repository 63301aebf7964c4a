#!/usr/bin/env bash
# Runs on the GPU machine, from the repository root, with carry/ as scripts/gpu_pack.sh left it. Logs go to $LOGS (/tmp/tegula-logs) and $OUT/all.tgz.
# usage: scripts/gpu_visit.sh stage…, each with its time limit behind a colon, in seconds:
#   info                            card, driver, what is missing
#   sequences                       bench_sequences_gpu's cases ($CASES, or all)
#   loops                           LSTMs of 32 to 4096 steps (bench_loops; lengths: $LENGTHS), loops as calls and written out, and in PyTorch: some four minutes
#   nets                            bench_nets' six nets in tf32 and fp16: with no compiled kernel at hand, with all, and in PyTorch
#   halves                          small nets of bench_nets ($NETS, or four) in tf32 and in bf16, which must be no slower, in turn, twice each
#   start bench race cifar accuracy the figures of scripts/gpu_results.py: first steps, bench_gpu's cases ($CASES, or all), training runs
#   peers                           the same work in PyTorch, Triton and JAX ($PEERS, or all); what they compile is kept, so a second time is shorter
#   test memcheck racecheck initcheck   every test that runs on a GPU (names with $ONLY in them), plainly or under the sanitizer,
#                                   $GROUP tests a process, $JOBS at once (all cores), spread over the GPUs numbered in $GPUS (all)
#   two                             two GPUs: test_dist's tests of GPUs, bench_collectives' $CASES, or all, on one rank and on two, all-reduces by NCCL alone and by turns of the
#                                   host; the peers' ($TWO_PEERS: sections, or none) in the same visit. NCCL's multicast stays off (NCCL_NVLS_ENABLE=0) unless it is set
#   property                        random graphs: on the GPU $TOGETHER of them (2000), $BATCH (40) to a plan and so to a compilation, from seed
#                                   $SEED (1) on, then $GRAPHS (20) in every mode; where $CPU_GRAPHS names a number, so many on each core by the CPU instead, which
#                                   needs no GPU. TEGULA_STEADY=1 (parts that stay between runs in each graph) and TEGULA_CHECK=plan,memory are handed on
#   learn                           trainings on real texts beside PyTorch's ($LEARN, or all: scripts/gpu_learn.sh)
#   trace                           time of every kernel of $TRACED (bench_sequences_gpu), one run of it for each of $CASES, by CUPTI: kernels of replayed graphs
#                                   in the last $TEGULA_TRACE_MS milliseconds, and how long the card was idle
#   profile                         time of each of $COUNT kernels of bench_gpu's $CASES, from the $FIRST on
set -uo pipefail
work=/tmp/tegula-visit logs=${LOGS:-/tmp/tegula-logs}
mkdir -p "$work" "$logs"
[ -e $work/tegula ] || tar -C $work --no-same-owner -xJf carry/pack.tar.xz  # the kernels of another user would not be read
site=$(python3 -c 'import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null)
for folder in "$site"/nvidia/*/lib /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64; do LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$folder"; done
export LD_LIBRARY_PATH=$work:$LD_LIBRARY_PATH TEGULA_CUDA_LIBRARY=$work/libtegula_cuda.so TEGULA_CACHE_DIR=/tmp/tegula-cache work
mkdir -p $TEGULA_CACHE_DIR

# Runs every GPU test in groups, one process each, until the time is over. $1: name of the stage, $2: seconds, rest: the tool in front.
pool() {
  local stage=$1
  export end=$(($(date +%s) + $2)) gpus=${GPUS:-$(nvidia-smi -L | sed -n 's/^GPU \([0-9]*\):.*/\1/p')} tool="${*:3}" out=$logs/$stage TEGULA_TEST_DEVICE=cuda TEGULA_THREADS=1
  export TEGULA_CACHE_DIR=$work/kernels
  [ -z "$tool" ] || export TEGULA_TUNE=0  # the libraries' own guesses: no sanitizer need watch them compete
  mkdir -p "$out" "$TEGULA_CACHE_DIR"
  for program in ops compile cuda; do
    [ $program = cuda ] && filter='Gpu*:*/Gpu*:Cuda*:OnGpu*' || filter='*'
    $work/test_$program --gtest_list_tests --gtest_filter="$filter" |
      awk -v p=test_$program '/^[^ ]/ {suite = $1} /^  / {print p, suite $1}'
  done | grep -E "${ONLY:-.}" >"$out.tests"
  [ -z "$tool" ] || sed -i /CudaLost/d "$out.tests"  # a device that is lost on purpose hangs the sanitizer
  local long='Scan/|Sort/|conv|matmul|LongRows|scatter'
  # Those that take minutes under a sanitizer begin, alone; of the others, neighbours are in different groups.
  grep -E "$long" "$out.tests" >"$out.groups"
  for program in test_ops test_compile test_cuda; do
    grep -vE "$long" "$out.tests" | grep "^$program " | cut -d' ' -f2 |
      awk -v p=$program -v size="${GROUP:-4}" '{all[NR] = $1} END {n = int((NR + size - 1) / size); for (g = 1; g <= n; ++g) {line = all[g]; for (i = g + n; i <= NR; i += n) line = line ":" all[i]; print p, line}}'
  done >>"$out.groups"
  xargs -a "$out.groups" -P "${JOBS:-$(nproc)}" --process-slot-var=SLOT -L 1 bash -c '
    left=$((end - $(date +%s))); [ $left -gt 5 ] || exit 0
    all=($gpus)
    CUDA_VISIBLE_DEVICES=${all[SLOT % ${#all[@]}]} timeout $left $tool $work/$1 --gtest_filter="$2" >"$out/$(echo "$1.$2" | tr "/:" "__" | cut -c1-150).log" 2>&1; exit 0' _
  report "$stage"
}

# What a pool's logs say: tests ended and failed, those that did not end, what the sanitizer found.
report() {
  local out=$logs/$1
  cat "$out"/*.log >"$out.log"
  sed -n 's/^\[ *\(OK\|SKIPPED\|FAILED\) *\] \([^ ,]*\)\(,.*\)\{0,1\} (.*ms)$/\2/p' "$out.log" | sort -u >"$out.ended"
  echo "$1: $(wc -l <"$out.tests") tests, passed $(grep -ac '^\[       OK.*ms)' "$out.log"), skipped $(grep -ac '^\[  SKIPPED.*ms)' "$out.log"), failed $(grep -ac '^\[  FAILED  \].*ms)' "$out.log"), not ended:" \
    $(cut -d' ' -f2 "$out.tests" | sort -u | comm -23 - "$out.ended" | head -40)
  grep -ah '^\[  FAILED  \].*ms)' "$out.log" | cut -c1-160 | head -20
  grep -aE '=====.*(Invalid|hazard|Uninit|Device not|rror|SUMMARY)' "$out.log" | sort | uniq -c | sort -rn | cut -c1-200 | head -20
}

# Random graphs, one process per core, each with seeds of its own.
property() {
  local out=$logs/property seed=${SEED:-1} cores=$(nproc) i
  mkdir -p "$out"
  export TEGULA_CACHE_DIR=/tmp/tegula-property TEGULA_FAILURES=3
  for ((i = 0; i < cores; ++i)); do
    (
      export OMP_NUM_THREADS=1 TEGULA_SECONDS=$(($1 > 60 ? $1 - 20 : $1))  # ends by itself, with its counts
      if [ -n "${CPU_GRAPHS:-}" ]; then
        TEGULA_SEED=$((seed + i * CPU_GRAPHS)) TEGULA_GRAPHS=$CPU_GRAPHS timeout "$1" $work/test_property --gtest_filter='*ModesAgree'
      else
        export TEGULA_TEST_DEVICE=cuda each=$(((${TOGETHER:-2000} + cores - 1) / cores))
        TEGULA_SEED=$((seed + i * each)) TEGULA_TOGETHER=$each TEGULA_BATCH=${BATCH:-40} timeout "$1" $work/test_property --gtest_filter='*AgreeTogether'
        TEGULA_SEED=$((seed + i * each)) TEGULA_GRAPHS=$(((${GRAPHS:-20} + cores - 1) / cores)) timeout "$1" $work/test_property --gtest_filter='*ModesAgree'
      fi >"$out/$i.log" 2>&1
    ) &
  done
  wait
  cat "$out"/*.log >"$out.log"
  grep -ahE 'graphs? from|values compared|outcomes of' "$out.log" | awk '{for (k = 1; k <= NF; ++k) if ($k ~ /^[0-9]+$/) {sum[$(k + 1)] += $k}} END {for (word in sum) print sum[word], word}'
  awk '$3 == "graphs," && $5 == "wrong" {graphs[$1] += $2; wrong[$1] += $4} END {for (mode in graphs) print mode, graphs[mode], "graphs,", wrong[mode], "wrong"}' "$out.log"
  grep -aE -A20 'TEGULA_SEED=[0-9]+ TEGULA_[GT]|^signal' "$out.log" | head -200
}

decode() { [ -e /tmp/cifar ] || python3 scripts/cifar10_from_jpegs.py $work/cifar10-jpeg.tar.xz /tmp/cifar; }

# The peers, or those named in $PEERS (script:sections for the ready scripts that the pack brought along); $1: seconds for each.
peers() {
  for peer in ${PEERS:-rows cifar small_and_backward:jax small_and_backward:torch torch:small torch:gemm torch:mem torch:resnet triton:}; do
    IFS=: read -r name sections <<<"$peer"
    case $name in
      rows) timeout "$1" python3 bench/peers/rows_torch.py ${CASES:-} 2>&1 | grep --line-buffered peer ;;
      cifar) decode; timeout "$1" python3 bench/peers/cifar10_torch.py /tmp/cifar 8 3 2>&1 | grep --line-buffered pytorch ;;
      *) timeout "$1" python3 $work/peers/${name}_h200.py $sections 2>>"$logs/peers.err" | sed -u "s/^/by ${name}_h200.py /" ;;
    esac
  done
}

two() {
  export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0} TEGULA_CACHE_DIR=/tmp/tegula-two
  [ "$(nvidia-smi -L | wc -l)" -ge 2 ] || { echo "two: fewer than two GPUs"; return; }
  TEGULA_ENGINE=nccl TEGULA_TIMEOUT=60 timeout "$1" $work/tegula launch --devices 0,1 $work/test_dist --gtest_brief=1 --gtest_filter='OnGpus.*' 2>&1 | tail -30
  timeout "$1" $work/bench_collectives ${CASES:-mnist gpt2.train resnet50 block}
  TEGULA_ENGINE=nccl timeout "$1" $work/tegula launch --devices 0,1 $work/bench_collectives ${CASES:-} | sed 's/^/two /'
  TEGULA_ENGINE=nccl TEGULA_PEER_BYTES=0 timeout "$1" $work/tegula launch --devices 0,1 $work/bench_collectives all_reduce.f32 mnist-cnn | sed 's/^/nccl /'
  TEGULA_ENGINE=sockets timeout "$1" $work/tegula launch --devices 0,1 $work/bench_collectives all_reduce.f32.4096 all_reduce.f32.1048576 | sed 's/^/host /'
  [ "${TWO_PEERS-all}" != none ] || return
  for ranks in 1 2; do
    timeout "$1" torchrun --standalone --nproc-per-node $ranks $work/peers/two_h200.py ${TWO_PEERS:-} 2>>"$logs/peers.err" | sed -u "s/^/by two_h200.py /"
  done
}

run_stage() {  # name, seconds
  local log=$logs/$1.txt limit=${2:-400}
  case $1 in
    info) nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; nproc; ldd $work/test_ops | grep "not found" ;;
    start)
      for i in 1 2 3; do
        rm -rf /tmp/cold /tmp/cold-driver
        CUDA_CACHE_PATH=/tmp/cold-driver TEGULA_CACHE_DIR=/tmp/cold $work/bench_start 64 mnist-cnn cold | sed "$([ $i = 1 ] && echo 's/\.cold/.cold,.first.of.the.machine/')" | grep -E "$([ $i = 1 ] && echo first_step || echo .)"
      done
      for i in 1 2 3; do TEGULA_CACHE_DIR=/tmp/cold $work/bench_start 64 mnist-cnn warm; done
      for i in cold warm warm; do TEGULA_CACHE_DIR=/tmp/cold $work/bench_start 64 mlp $i; done ;;
    bench)
      timeout "$limit" $work/bench_gpu ${CASES:-} >/dev/null 2>&1  # compiles and chooses algorithms
      timeout "$limit" $work/bench_gpu ${CASES:-} ;;
    sequences) timeout "$limit" $work/bench_sequences_gpu ${CASES:-} ;;
    loops)
      for length in ${LENGTHS:-32 128 512 2048 4096}; do
        for body in lstm stack; do
          for loops in steps written; do TEGULA_LOOPS=$loops timeout 60 $work/bench_loops $body "$length" || echo "loops.$body.$loops.t$length did not end"; done
        done
        for body in lstm cells graph; do timeout 60 python3 bench/peers/loops_torch.py $body "$length" 2>>"$logs/peers.err" || echo "peer loops.$body.t$length did not end"; done
      done ;;
    halves)
      for precision in tf32 bf16 tf32 bf16; do
        TEGULA_BENCH_DEVICE=cuda TEGULA_BENCH_PRECISION=$precision timeout "$limit" $work/bench_nets ${NETS:-mlp vae textcnn bilstm} | grep -v first | sed "s/^/$precision /"
      done > "$logs/halves.log" 2>&1
      cat "$logs/halves.log" ;;
    nets)
      for precision in tf32 fp16; do
        export TEGULA_BENCH_DEVICE=cuda TEGULA_BENCH_PRECISION=$precision
        rm -rf /tmp/cold-nets
        for label in cold warm warm; do TEGULA_CACHE_DIR=/tmp/cold-nets timeout "$limit" $work/bench_nets ${NETS:-} | sed "s/^/$precision $label /"; done
        timeout "$limit" python3 bench/peers/nets_torch.py ${NETS:-} 2>>"$logs/peers.err" | sed -u "s/^/$precision /"
      done ;;
    race) timeout "$limit" $work/bench_mnist_race $work/mnist 512 2 8e-3 tf32 4 ;;
    cifar) decode; timeout "$limit" $work/bench_cifar10 /tmp/cifar 8 3 ;;
    accuracy)
      for precision in fp32 tf32 bf16 fp16 fp8; do
        for seed in 0 1 2; do
          timeout "$limit" $work/tegula train mnist-cnn --device cuda --precision $precision --seed $seed --data $work/mnist --out /tmp/m.safetensors --plot /tmp/m.png
        done >"$logs/mnist.$precision.log" 2>&1
        awk -v name=mnist_accuracy.cuda.$precision '$1 == 5 && $7 == "%" {sum += $6; ++runs; all = all " " $6} END {printf "%s %.2f %% of%s\n", name, sum / runs, all}' "$logs/mnist.$precision.log"
      done ;;
    peers) peers "$limit" ;;
    test) pool test "$limit" ;;
    memcheck|racecheck|initcheck) pool "$1" "$limit" compute-sanitizer --tool "$1" ;;
    two) two "$limit" ;;
    property) property "$limit" ;;
    learn) work=$work logs=$logs bash scripts/gpu_learn.sh "$limit" ${LEARN:-} ;;
    trace)
      for case in $CASES; do
        echo "--- $case"
        CUDA_INJECTION64_PATH=$work/libkernel_trace.so TEGULA_TRACE_FILE=$logs/trace.$case timeout "$limit" $work/${TRACED:-bench_sequences_gpu} $case
      done ;;
    profile)
      timeout "$limit" ncu --graph-profiling node --metrics gpu__time_duration.sum,launch__grid_size,launch__registers_per_thread -s "${FIRST:-0}" -c "${COUNT:-100}" $work/bench_gpu ${CASES:-} >"$logs/ncu.log" 2>&1
      python3 - "$logs/ncu.log" <<'PY'
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
    *) echo "unknown stage $1" ;;
  esac 2>&1 | tee "$log"
}

for stage in "$@"; do
  echo "=== $stage ($(date +%T))"
  IFS=: read -r name seconds <<<"$stage"
  run_stage "$name" "$seconds"
done
echo "=== end ($(date +%T))"
[ -z "${OUT:-}" ] || tar -C "$logs" -czf "$OUT/all.tgz" .
