#!/usr/bin/env bash
# Installs what is missing, builds, and trains a small convolutional network on digits that the program draws itself. Leaves model and
# learning curve in build/demo. Arguments go to `tegula train mnist-cnn`, e.g. --data DIR for the MNIST files, --epochs 1, --out FILE.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/setup.sh
mkdir -p build/demo
cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset release -j "$(nproc)" --target tegula_cli
exec build/release/tegula train mnist-cnn --epochs 3 --out build/demo/mnist-cnn.safetensors --plot build/demo/mnist-cnn.png "$@"
