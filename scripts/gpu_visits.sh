#!/usr/bin/env bash
# The two visits behind bench/results/nvidia-h200.json: runs gpu_visit.sh on each GPU of a machine with four of them and 16 processors for each.
# usage: scripts/gpu_visits.sh figures, then, within ten minutes on the same machine, scripts/gpu_visits.sh peers
#   figures  first steps alone, then on GPU 0 all figures, on 1 and 3 a first pass of the peers, which compile, on 2 every GPU test
#   peers    on GPU 0 the peers again, which find what they have compiled
# Logs: $OUT/all.tgz. gpu_results.py takes figures/*.txt and peers-*/peers.txt.
set -uo pipefail
all=${LOGS:-/tmp/tegula-visits} archive=${OUT:-}
visit() { # GPU, folder of its logs, stages…
  taskset -c $(($1 * 16))-$(($1 * 16 + 15)) env CUDA_VISIBLE_DEVICES="$1" GPUS="$1" JOBS=20 LOGS="$all/$2" OUT= bash "$(dirname "$0")/gpu_visit.sh" "${@:3}" >"$all/$2.txt" 2>&1
}
mkdir -p "$all"
others="rows cifar small_and_backward:jax small_and_backward:torch torch:small torch:gemm torch:mem triton:"
case $1 in
  figures)
    visit 0 first info start
    visit 0 figures bench:200 race:60 cifar:60 accuracy:60 &
    PEERS="torch:resnet" visit 1 compile-resnet peers:440 &
    visit 2 tests test:170 memcheck:270 &
    PEERS=$others visit 3 compile-others peers:440 &
    for ((i = 0; i < 48; ++i)); do sleep 10; [ -n "$(jobs -pr)" ] || break; done ;;
  peers)
    CASES="layer_norm.backward.32768 rms_norm.backward.32768" PEERS=rows visit 0 peers-gradients peers:120
    PEERS="torch:resnet" visit 0 peers-resnet peers:230
    PEERS=$others visit 0 peers-others peers:240 ;;
  *) echo "figures or peers" >&2; exit 2 ;;
esac
tail -n 12 "$all"/*.txt | cut -c1-160
[ -z "$archive" ] || tar -C "$all" -czf "$archive/all.tgz" .
