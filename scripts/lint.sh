#!/usr/bin/env bash
# Formatting and static analysis. Usage: scripts/lint.sh [--fix] [--all] [files]
#   without files: those that differ from the branch's upstream state (HEAD); --all: every source; --fix: rewrite the formatting.
# Uses clang-format-19 and clang-tidy-19 where they are installed; clang-tidy reads build/lint/compile_commands.json.
set -euo pipefail
cd "$(dirname "$0")/.."

fix=no
all=no
files=()
for argument in "$@"; do
  case "$argument" in
    --fix) fix=yes ;;
    --all) all=yes ;;
    *) files+=("$argument") ;;
  esac
done
patterns=('tegula/*.h' 'tegula/*.cpp' 'app/*' 'examples/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp')
if [ ${#files[@]} -eq 0 ]; then
  if [ $all = yes ]; then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- "${patterns[@]}")
  else
    mapfile -t files < <({ git diff --name-only --diff-filter=d HEAD -- "${patterns[@]}"
                           git ls-files --others --exclude-standard -- "${patterns[@]}"; } | sort -u)
  fi
fi
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -E '\.(h|cpp)$' | while read -r file; do [ -f "$file" ] && echo "$file"; done)
[ ${#files[@]} -eq 0 ] && { echo "lint: nothing to check"; exit 0; }

status=0
if command -v clang-format-19 > /dev/null; then
  if [ $fix = yes ]; then
    clang-format-19 -i "${files[@]}"
  else
    clang-format-19 --dry-run -Werror "${files[@]}" || status=1
  fi
else
  echo "lint: no clang-format-19, formatting not checked"
fi

if command -v clang-tidy-19 > /dev/null; then
  cmake --preset release -B build/lint -D TEGULA_FEW_UNITS=OFF > /dev/null  # each time: sources come and go
  # Only files that are compiled; headers are checked with them. GCC's own warning flags are unknown to clang.
  mapfile -t compiled < <(printf '%s\n' "${files[@]}" | while read -r file; do
    if grep -qF "\"$PWD/$file\"" build/lint/compile_commands.json; then echo "$file"; fi
  done)
  if [ ${#compiled[@]} -gt 0 ]; then
    printf '%s\n' "${compiled[@]}" |
      xargs -P "$(nproc)" -n 4 clang-tidy-19 --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations || status=1
  fi
else
  echo "lint: no clang-tidy-19, static analysis left out"
fi
exit $status
