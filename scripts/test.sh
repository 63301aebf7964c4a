#!/usr/bin/env bash
# Installs what is missing, builds the release preset and runs every test. The last lines are ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/setup.sh
jobs=$(nproc)
cmake --preset release
begun=$SECONDS
cmake --build --preset release -j "$jobs"
built=$((SECONDS - begun))

build=build/release
rm -f $build/reports/*
status=0
ctest --preset release -j "$jobs" "$@" 2>&1 | tee $build/ctest.log || status=$?

# What tests measured or tabulated, then the summary once more so that it closes the output.
if compgen -G "$build/reports/*" > /dev/null; then
  echo
  cat $build/reports/*
  echo
fi
echo "built in $((built / 60)) min $((built % 60)) s with $jobs jobs"
sed -n '/tests passed,/,$p' $build/ctest.log
exit "$status"
