#!/usr/bin/env bash
# Installs what Tegula needs to build, test and plot: Debian 12, Ubuntu 24.04 or newer. Does nothing when all of it is there.
set -euo pipefail

missing=()
need_command() { command -v "$1" > /dev/null || missing+=("$2"); }
need_package() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ] || missing+=("$1"); }

need_command g++ g++
need_command cmake cmake
need_command ninja ninja-build
need_command gnuplot gnuplot-nox
need_command python3 python3  # only for the lint and documentation tests
if command -v dpkg-query > /dev/null; then
  for package in libdnnl-dev libhwy-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libssl-dev libpng-dev libjpeg-dev libzip-dev libexpat1-dev libutf8proc-dev libpcre2-dev libcsv-dev protobuf-compiler libprotobuf-dev libgtest-dev libbenchmark-dev; do
    need_package "$package"
  done
fi

[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get > /dev/null; then
  echo "setup: no apt-get here; install by hand: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || { echo "setup: run as root, or install by hand: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
