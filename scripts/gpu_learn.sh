#!/usr/bin/env bash
# Learning on real texts, on a GPU and beside PyTorch: trains and prints a table. A stage of scripts/gpu_visit.sh (learn), which sets what it needs:
# $work (programs, $work/text with the data), $logs. usage: scripts/gpu_learn.sh SECONDS [job…]
# Jobs run side by side on one GPU, so that times say little; the tokens a second of a job alone are those of one that was asked for alone.
#   gpt gpt_torch                   tinyshakespeare by characters, 6 layers of 384 (10.7 M parameters), context 256
#   transformer transformer_torch   Multi30k de -> en, beam 5, BLEU of test_2016
#   lstm lstm_torch                 the same by an LSTM with Bahdanau's attention
#   bert bert_torch                 masked tokens of 15 books and two files of wikitext-2, then SST-2: fine-tuned and from scratch, $SEEDS (3) seeds, learning rates $RATES
set -uo pipefail
end=$(($(date +%s) + $1))
shift
text=${work:?}/text out=${logs:?}/learn
mkdir -p "$out"
export OMP_NUM_THREADS=2
device=${LEARN_DEVICE:-cuda}
left() { echo $((end - $(date +%s))); }
# The command in $2… with what is left of the time; its output goes to a file by the name of $1.
job() {
  local name=$1
  shift
  timeout "$(left)" "$@" >>"$out/$name.txt" 2>&1 || echo "$name: rc $? ($(date +%T)) $*" | cut -c1-200 >>"$out/failed.txt"
}
pairs=("$text/train.de.gz" "$text/train.en.gz" --validation "$text/val.de.gz" "$text/val.en.gz")

gpt() {
  job gpt "$work/tegula" train gpt "$text/input.txt" --layers 6 --heads 6 --width 384 --context 256 --batch 64 --dropout 0.2 --steps "${GPT_STEPS:-2500}" --eval-every 250 \
    --device "$device" --precision bf16 --out "$out/gpt.st" --plot "$out/gpt.png" --log "$out/gpt.jsonl" --log-every 50
  job gpt "$work/tegula" generate "$out/gpt.st" --prompt $'ROMEO:\n' --tokens 200 --top-k 40 --temperature 0.8 --device "$device" --precision bf16
}
gpt_torch() {
  job gpt_torch python3 bench/peers/sequences_torch.py gpt "$text/input.txt" --layers 6 --heads 6 --width 384 --context 256 --batch 64 --net-dropout 0.2 --steps "${GPT_STEPS:-2500}" \
    --device "$device" --precision bf16 --compile
}

transformer_options=(--shared --vocabulary 8000 --width 256 --hidden 1024 --layers 3 --heads 4 --dropout 0.3 --batch 128 --lr 0.001 --patience 0)
lstm_options=(--model lstm --layers 1 --shared --vocabulary 8000 --width 256 --hidden 512 --dropout 0.4 --batch 128 --lr 0.001 --patience 0)
translate() {  # name, model
  job "$1" "$work/tegula" translate "$2" "$text/test_2016_flickr.de.gz" --reference "$text/test_2016_flickr.en.gz" --device "$device" --batch 100
}
translator() {  # name, precision, options
  local name=$1 precision=$2
  shift 2
  job "$name" "$work/tegula" train translate "${pairs[@]}" "$@" --bleu 0 --device "$device" --precision "$precision" --out "$out/$name.st" --plot "$out/$name.png" --log "$out/$name.jsonl" --log-every 50
  translate "$name" "$out/$name.st"
}
translator_torch() {  # name, precision, epochs, options
  local name=$1 precision=$2 epochs=$3
  shift 3
  job "$name" "$work/tegula" train translate "${pairs[@]}" "$@" --epochs 0 --out "$out/$name.first.st" --plot "$out/none.png"
  job "$name" python3 bench/peers/translation_torch.py "$out/$name.first.st" "${pairs[@]}" --epochs "$epochs" --batch 128 --lr 0.001 --device "$device" --precision "$precision" --out "$out/$name.st" --threads 2
  translate "$name" "$out/$name.st"
}
transformer() { translator transformer bf16 "${transformer_options[@]}" --epochs "${TRANSFORMER_EPOCHS:-20}"; }
transformer_torch() { translator_torch transformer_torch bf16 "${TRANSFORMER_EPOCHS:-20}" "${transformer_options[@]}"; }
lstm() { translator lstm tf32 "${lstm_options[@]}" --epochs "${LSTM_EPOCHS:-12}"; }
lstm_torch() { translator_torch lstm_torch tf32 "${LSTM_EPOCHS:-12}" "${lstm_options[@]}"; }

# The first weights and the tokenizer, which both sides read; the sentences of SST are those to learn from, without their labels.
books=("$text/books.txt" "$text/wiki.valid.txt" "$text/wiki.test.txt" "$text/sst.txt")
read -r -a bert_sizes <<<"${BERT_SIZES:---width 256 --layers 4 --heads 4}"
read -r -a bert_steps <<<"${BERT_STEPS:---epochs 60 --batch 128 --length 128 --lr 0.001}"
bert_first() {
  [ -e "$out/bert.first.st" ] || job bert_first "$work/tegula" train bert "${books[@]}" "${bert_sizes[@]}" --length 128 --epochs 0 --out "$out/bert.first.st" --plot "$out/none.png"
}
# Fine-tuning: of each name a line with validation and test, best rate by validation. $1: tegula or torch, $2: the pre-trained model.
tune() {
  local side=$1 model=$2 data=("$text/stsa.binary.train" --validation "$text/stsa.binary.dev" --test "$text/stsa.binary.test" --epochs 5 --batch 32) seed rate scratch
  for rate in ${RATES:-0.0001 0.0003}; do
    for seed in $(seq 0 $((${SEEDS:-3} - 1))); do
      for scratch in "" --scratch; do
        if [ "$side" = tegula ]; then
          echo "$work/tegula train bert ${data[*]} --classify --from $model $scratch --lr $rate --seed $seed --device $device --precision bf16 --out $out/none.$rate.$seed$scratch.st --plot $out/none.png"
        else
          echo "python3 bench/peers/bert_torch.py classify $model ${data[*]} $scratch --lr $rate --seed $seed --device $device --precision bf16"
        fi | sed "s|^|$out/sst.$side${scratch:---pretrained}.$rate.$seed.txt |"
      done
    done
  done | xargs -P "${TUNE_JOBS:-4}" -L 1 bash -c 'file=$0; timeout '"$(left)"' "$@" >"$file" 2>&1; true'
}
bert() {
  job bert "$work/tegula" train bert "${books[@]}" --validation "$text/books.valid.txt" --from "$out/bert.first.st" "${bert_steps[@]}" --device "$device" --precision bf16 --out "$out/bert.st" \
    --plot "$out/bert.png" --log "$out/bert.jsonl" --log-every 50
  [ -e "$out/bert.st" ] && tune tegula "$out/bert.st"
}
bert_torch() {
  job bert_torch python3 bench/peers/bert_torch.py masked "$out/bert.first.st" "${books[@]}" --validation "$text/books.valid.txt" "${bert_steps[@]}" --device "$device" --precision bf16 --compile --out "$out/bert_torch.st"
  [ -e "$out/bert_torch.st" ] && tune torch "$out/bert_torch.st"
}

table() {
  echo "--- validation loss in nats per character; BLEU; share of masked tokens guessed"
  for name in gpt gpt_torch; do [ -e "$out/$name.txt" ] && echo "$name: $(tr '\r' '\n' <"$out/$name.txt" | grep -aE 'validation loss [0-9]' | tail -1)"; done
  for name in transformer transformer_torch lstm lstm_torch; do
    [ -e "$out/$name.txt" ] || continue
    echo "$name: $(tr '\r' '\n' <"$out/$name.txt" | grep -aE '^ *[0-9]+  ' | tail -1 | tr -s ' ') | $(grep -a 'BLEU' "$out/$name.txt" | tail -1)"
  done
  for name in bert bert_torch; do [ -e "$out/$name.txt" ] && echo "$name: $(tr '\r' '\n' <"$out/$name.txt" | grep -aE '^ *[0-9]+  ' | tail -1 | tr -s ' ')"; done
  for kind in tegula--pretrained tegula--scratch torch--pretrained torch--scratch; do
    for rate in ${RATES:-0.0001 0.0003}; do
      cat "$out/sst.$kind.$rate".*.txt 2>/dev/null | awk -v name="SST-2 $kind, learning rate $rate" '/^best validation/ {dev += $4; ++n} /^test accuracy/ {test += $3; all = all " " $3}
        END {if (n) printf "%s: validation %.2f %%, test %.2f %% (%s)\n", name, dev / n, test / n, substr(all, 2)}'
    done
  done
  [ -e "$out/failed.txt" ] && sed 's/^/FAILED /' "$out/failed.txt"
}

rm -f "$out/failed.txt"
jobs=${*:-gpt gpt_torch transformer transformer_torch lstm lstm_torch bert bert_torch}
[[ $jobs == *bert* ]] && bert_first &
first=${!:-}
for name in $jobs; do
  {
    [[ $name != bert* ]] || while kill -0 "$first" 2>/dev/null; do sleep 0.2; done
    "$name"
    echo "$name ended ($(date +%T))"
  } &
done
wait
rm -f "$out"/none.* "$out"/*.first.st
table
