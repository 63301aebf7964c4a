#!/usr/bin/env bash
# Installs what is missing, builds, and trains a small convolutional network on digits.
# Arguments go to `tegula train mnist-cnn`, e.g. --data DIR for the MNIST files; without them the digits are drawn by the program.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/setup.sh
cmake --preset release > build.log 2>&1 || { cat build.log; exit 1; }
rm -f build.log
cmake --build --preset release -j "$(nproc)" --target tegula_cli
exec build/release/tegula train mnist-cnn "$@"
