#pragma once
// The code of a program while it is being made: steps with their reads and writes, and the values they compute.

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tegula/cpu/executor/executor_bytecode.h"
#include "tegula/tile/ir.h"

namespace tegula::host {

/// A scalar: a number known at compile time, or a slot. `level` says when it is there: 2d is the beginning of region d, 2d + 1
/// somewhere in its body. Region 0 is entered once per argument set and thread, region 1 once per program instance, the others are loops and branches.
struct Scalar {
  bool known = true;
  std::int64_t value = 0;
  int slot = -1;
  int level = 0;
};
inline Scalar known(std::int64_t value) { return {true, value, -1, 0}; }

/// A tile in memory: dense, row-major. Its slot holds the address; `home` holds the address of the scratch that belongs to it.
struct Tile {
  DType dtype = DType::f32;
  Shape shape;
  int slot = 0;
  int home = 0;
  bool pinned = false;  // written once per argument set: the scratch is not shared
  int region = 0;  // the region that writes it
  int live_bytes = -1;  // slot of how many bytes are in use; -1: all
  std::int64_t bytes() const { return numel(shape) * static_cast<std::int64_t>(size_of(dtype)); }
};

/// Elements of a tile under another shape; strides in elements, 0 along broadcast axes.
struct View {
  int tile = -1;
  Strides strides;
};

struct Bound {
  bool set = false;
  Scalar value;
};

/// The compiler's knowledge of a value.
struct Form {
  enum class Kind {
    None,
    Uniform,  // one scalar, whatever the shape
    Affine,  // i64 or pointer: base + Σ index·stride [+ offset·scale]; pointers in bytes
    Box,  // boolean: true where low <= index < high on every axis
    Dense,
    Deferred,  // will be computed as part of the only word that uses it
  };
  Kind kind = Kind::None;
  Scalar scalar;  // Uniform
  Scalar base;  // Affine
  std::array<Scalar, kMaxAxes> stride{};
  View offset;  // i64
  std::int64_t scale = 1;
  std::array<Bound, kMaxAxes> low{}, high{};  // Box
  View view;  // Dense
  int root = -1;  // pointers: the parameter it began with
};

/// One step under construction, or a label (no bytes) that jumps refer to.
struct Item {
  std::vector<std::byte> bytes;
  std::vector<int> reads, writes;  // tiles
  int scalar = -1;  // slot of the scalar that the step computes
  int label = -1;  // the label this is
  int target = -1;  // the label a LoopStep or JumpStep goes to
  bool loop_begin = false, loop_end = false;
  enum class Kind { Other, Map, Across, Load, Store, Gather, Scatter } kind = Kind::Other;  // Load and the rest: of the user's memory
  bool continues = false;  // Across: a reduction that can be done in pieces
  bool strip = false;  // control: a StripStep
  int root = -1;  // root of the pointer
  int limit = -1;  // Store: slot of how many rows are stored, where the instance knows it from the beginning
  std::string text;

  template <class S>
  S& as() {
    return *reinterpret_cast<S*>(bytes.data());
  }
  template <class S>
  const S& as() const {
    return *reinterpret_cast<const S*>(bytes.data());
  }
  Run run() const { return bytes.empty() ? nullptr : as<Step>().run; }
};

/// Finished code, ready to be run.
struct Code {
  std::vector<std::int64_t> prologue, instance;  // steps, as words for their alignment
  std::vector<Slot> slots;  // initial contents
  struct Address {
    int slot, target;
  };
  std::vector<Address> own_addresses;  // slot = address of slot `target`
  struct ScratchAddress {
    int slot;
    std::int64_t offset;
  };
  std::vector<ScratchAddress> scratch_addresses;  // slot = scratch + offset
  std::size_t scratch_bytes = 0;
  std::vector<int> parameters;  // slot of each, -1 when unused
  std::array<int, 3> program_id{-1, -1, -1}, num_programs{-1, -1, -1};
  std::int64_t load_bytes = 0;  // bytes that an instance reads in blocks (loops: a guess)
  int lines_per_step = 0;  // cache lines to fetch ahead with each step
  bool in_order = false;  // atomic words, and what is shown: one thread, instance after instance
  int labels = 0;
  std::vector<std::shared_ptr<const tile::Text>> texts;  // that steps point at
  std::string text;
};

struct CompileOptions {
  bool in_place = true;  // tiles may lie in the user's memory
  std::int64_t strip = 2048;  // elements of a long tile that are worked on at a time
};

/// Throws Error for unsupported programs.
Code compile_code(const tile::Program& program, const CompileOptions& options);

/// Puts loops over strips around words that follow each other on long tiles.
void form_strips(Code& code, std::vector<Tile>& tiles, std::vector<Item>& items, std::int64_t length);

/// The last stage: orders, scratch memory and distances. `tiles`, `prologue` and `instance` come from the compiler; fills the rest of code.
void lay_out(Code& code, std::vector<Tile>& tiles, std::vector<Item> prologue, std::vector<Item> instance, const CompileOptions& options);

}  // namespace tegula::host
