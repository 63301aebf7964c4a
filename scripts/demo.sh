#!/usr/bin/env bash
# Installs what is missing, builds, and trains a small convolutional network on digits.
# Arguments go to `tegula train mnist-cnn`, e.g. --data DIR for the MNIST files; without them the digits are drawn by the program.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/setup.sh
mkdir -p build
cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset release -j "$(nproc)" --target tegula_cli
exec build/release/tegula train mnist-cnn "$@"
