#include "tegula/cuda/handwritten/plain_scatter.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_scatter.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kThreads = 256;        // of a block; as many as a digit has values
constexpr std::int64_t kShortestTile = 1024;  // that a block sorts
constexpr std::int64_t kMostTiles = 128;      // each reads what all have counted
constexpr std::int64_t kPiece = 64;           // lines
constexpr std::int64_t kFindThreads = 128;

}  // namespace

ScatterKernels scatter_kernels(const runtime::ScatterSum& d) {
  const std::int64_t pieces = divide_up(d.count, kPiece);
  const Layout partial = Layout::dense({2 * pieces, d.outer, d.width});
  const std::int64_t tile = std::max(kShortestTile, divide_up(d.count, kMostTiles * kThreads) * kThreads), tiles = divide_up(d.count, tile);
  const std::int64_t size = static_cast<std::int64_t>(size_of(d.dtype)), vector = d.width * size % 16 == 0 ? 16 / size : 1;
  const std::int64_t parts = d.width / vector % 2 == 0 ? 2 : 1, packs = d.width / vector / parts;  // a thread has some loads in flight
  const std::int64_t slabs = divide_up(d.outer * packs, kFindThreads);
  const bool narrow = std::max(d.count, d.length) < std::numeric_limits<std::int32_t>::max() / 2;
  PlainSource source(d.dtype, {Layout::dense({d.outer, d.count, d.width}), Layout::dense({d.outer, d.length, d.width}), partial});
  source.add(narrow ? "typedef unsigned Number;\n" : "typedef unsigned long long Number;\n");
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"OUTER", d.outer},
                                    {"COUNT", d.count},
                                    {"LENGTH", d.length},
                                    {"WIDTH", d.width},
                                    {"TILE", tile},
                                    {"TILES", tiles},
                                    {"PIECE", kPiece},
                                    {"SLABS", slabs},
                                    {"FIND_THREADS", kFindThreads},
                                    {"VECTOR", vector},
                                    {"PARTS", parts},
                                    {"PACKS", packs}}) {
    source.define(name, value);
  }
  source.add(kSort);
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(d.length))), passes = std::max(1, (bits + 7) / 8);
  for (int p = 0; p < passes; ++p) source.add(kPass, {{"SHIFT", std::to_string(8 * p)}, {"KEY", p == 0 ? "long long" : "Number"}});
  source.add(kAdd);

  ScatterKernels result;
  const auto add = [&](const std::string& name, std::int64_t blocks, std::int64_t threads = kThreads) {
    result.kernels.push_back({"scatter_" + name, source.text(), blocks, static_cast<int>(threads)});
  };
  const std::int64_t clearing = std::clamp<std::int64_t>(d.length / 1024, 1, 1024);
  for (int p = 0; p < passes; ++p) {
    add("count_" + std::to_string(8 * p), p == 0 ? std::max(tiles, clearing) : tiles);
    add("sort_" + std::to_string(8 * p), tiles);
  }
  add("find", pieces * slabs, kFindThreads);
  add("add", divide_up(d.outer * d.length * packs, kThreads));
  const auto take = [&](std::int64_t elements, std::size_t element_bytes) {
    return std::exchange(result.scratch_bytes, result.scratch_bytes + align_scratch(static_cast<std::size_t>(elements) * element_bytes));
  };
  const std::size_t number = narrow ? 4 : 8;
  result.table = take(tiles * kThreads, number);
  for (std::size_t& keys : result.keys) keys = take(d.count, number);
  for (std::size_t& lines : result.lines) lines = take(d.count, number);
  result.rows = take(2 * d.length, number);
  result.partial = take(numel(partial.shape), std::max<std::size_t>(4, size_of(d.dtype)));
  return result;
}

}  // namespace tegula::gpu
