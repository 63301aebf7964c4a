#include "tegula/compile/plan/choose_way.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/graph/attributes.h"
#include "tegula/runtime/fingerprint.h"
#include "tegula/runtime/kernel_cache.h"
#include "tegula/runtime/measure.h"
#include "tegula/runtime/tuning.h"

namespace tegula::compile {
namespace {

using Operand = KernelContext::Operand;
using runtime::CallChoice;

constexpr const char* kLibrary = "library";
constexpr const char* kCall = "call ";  // begins the keys

/// All that the choice may depend on.
std::string key_of(const Item& item, const runtime::CallDescription& call, const InTiles::Operands& operands) {
  std::string key = kCall + std::string(item.op->name()) + " " + description(*item.op);
  const auto add = [&](const Operand& one) {
    key += " " + std::string(name(one.dtype)) + to_string(one.shape);
    if (one.strides != Layout::dense(one.shape).strides) key += "/" + to_string(one.strides);
  };
  for (const Operand& one : operands.inputs) add(one);
  key += " ->";
  for (std::size_t k = 0; k < operands.outputs.size(); ++k) {
    add(operands.outputs[k]);
    if (!operands.wanted[k]) key += " unread";
  }
  if (!item.epilogue->is_empty()) key += "," + runtime::to_string(*item.epilogue);
  const auto* const convolution = std::get_if<runtime::Convolution>(&call);
  if (convolution && !convolution->keeps_nan) key += ", NaN may become a number";
  return key;
}

/// Buffers like those of the call: small numbers in inputs of floats, zeros in others.
class Buffers {
 public:
  Buffers(runtime::Device& device, const InTiles::Operands& operands) : device_(device) {
    for (const Operand& one : operands.inputs) fill(add(one), one.dtype);
    for (std::size_t k = 0; k < operands.outputs.size(); ++k) {
      if (operands.wanted[k]) add(operands.outputs[k]);
      else pointers_.push_back(nullptr);
    }
  }
  /// Inputs, then outputs.
  std::span<void* const> pointers() const { return pointers_; }
  void* scratch(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    return own_.emplace_back(device_.allocate(bytes))->data();
  }

 private:
  Buffer& add(const Operand& one) {
    std::int64_t last = 0;
    for (int axis = 0; axis < one.shape.rank(); ++axis) last += (one.shape[axis] - 1) * one.strides[axis];
    own_.push_back(device_.allocate(static_cast<std::size_t>(last + 1) * size_of(one.dtype)));
    pointers_.push_back(own_.back()->data());
    return *own_.back();
  }
  void fill(Buffer& buffer, DType dtype) {
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    const std::size_t count = std::min(buffer.bytes(), kPiece) / size_of(dtype);
    std::vector<std::byte> numbers(count * size_of(dtype));
    if (is_float(dtype)) {
      visit(dtype, [&](auto zero) {
        using T = decltype(zero);
        std::uint32_t state = 1;
        for (std::size_t i = 0; i < count; ++i) {
          state = state * 1664525 + 1013904223;  // of Numerical Recipes
          reinterpret_cast<T*>(numbers.data())[i] = from_double<T>(static_cast<double>(state >> 16) / 65536 - 0.5);
        }
      });
    }
    for (std::size_t at = 0; at < buffer.bytes() && !numbers.empty(); at += numbers.size())
      device_.copy_in(static_cast<std::byte*>(buffer.data()) + at, numbers.data(), std::min(numbers.size(), buffer.bytes() - at));
  }

  runtime::Device& device_;
  std::vector<Ref<Buffer>> own_;
  std::vector<void*> pointers_;
};

/// A way's kernels over these buffers.
class MeasuredWay {
 public:
  MeasuredWay(const TileWay& way, const std::vector<bool>& wanted, const runtime::TilePreference& tiles, runtime::Device& device,
              Buffers& buffers)
      : context_(way.inputs, way.outputs, wanted, tiles) {
    static_cast<const KernelOp&>(*way.op).lower(context_);
    std::vector<void*> scratch;
    for (const std::int64_t bytes : context_.scratch_bytes()) scratch.push_back(buffers.scratch(static_cast<std::size_t>(bytes)));
    const std::span<void* const> pointers = buffers.pointers();
    for (const KernelContext::Launch& launch : context_.launches()) {
      One& one = launches_.emplace_back();
      one.kernel = runtime::compiled(device, launch.program, tile::structure(launch.program));
      for (const KernelArgument& argument : launch.arguments) {
        runtime::Argument& to = one.arguments.emplace_back();
        const auto index = static_cast<std::size_t>(argument.index);
        switch (argument.kind) {
          case KernelArgument::Kind::Input:
          case KernelArgument::Kind::Constant: to.pointer = pointers[index]; break;
          case KernelArgument::Kind::Output: to.pointer = pointers[way.inputs.size() + index]; break;
          case KernelArgument::Kind::Scratch: to.pointer = scratch[index]; break;
          case KernelArgument::Kind::Integer: to.integer = argument.integer; break;
          case KernelArgument::Kind::Real: to.real = argument.real; break;
        }
      }
      one.set = {one.arguments.data(), launch.grid};
    }
  }
  /// Begins to compile.
  void request(runtime::Device& device) const {
    std::vector<runtime::PlannedLaunch> planned;
    for (const One& one : launches_) planned.push_back({one.kernel.get(), {&one.set, 1}});
    device.request(planned);
  }
  void run(runtime::Device& device) const {
    for (const One& one : launches_) one.kernel->launch({&one.set, 1}, {.threads = device.max_threads()});
  }

 private:
  struct One {
    std::shared_ptr<const runtime::Kernel> kernel;
    std::vector<runtime::Argument> arguments;
    runtime::ArgumentSet set;
  };
  KernelContext context_;
  std::deque<One> launches_;
};

double seconds_of(runtime::Device& device, const std::function<void()>& run) {
  constexpr double kSeconds = 0.02;
  run();  // compiles
  device.synchronize();
  return runtime::measure(device, run, {.seconds = kSeconds, .batches = 5, .warm_up = 2}).fastest;
}

struct Fastest {
  std::string text = kLibrary;
  double seconds = std::numeric_limits<double>::infinity();
};
/// The library computes it where nothing can be run.
Fastest fastest(const runtime::CallDescription& call, const std::vector<TileWay>& ways, const InTiles::Operands& operands,
                const runtime::TilePreference& tiles, runtime::Device& device) {
  Fastest best;
  const auto attempt = [&](const std::string& text, auto&& make) {
    try {
      const double seconds = seconds_of(device, make());
      if (seconds < best.seconds) best = {text, seconds};
    } catch (const Error&) {  // another way computes it
    }
  };
  try {
    Buffers buffers(device, operands);
    std::deque<std::optional<MeasuredWay>> programs(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      try {
        programs[i].emplace(ways[i], operands.wanted, tiles, device, buffers);
        programs[i]->request(device);
      } catch (const Error&) { programs[i].reset(); }
    }
    std::unique_ptr<runtime::Call> library;
    attempt(kLibrary, [&] {
      library = device.make(call);
      void* const scratch = buffers.scratch(library->scratch_bytes());
      return [&, scratch] { library->run(buffers.pointers(), {.scratch = scratch, .threads = device.max_threads()}); };
    });
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (programs[i]) attempt(ways[i].text, [&] { return [&, i] { programs[i]->run(device); }; });
    }
    device.synchronize();
  } catch (const Error&) {  // no memory to measure in
  }
  return best;
}

}  // namespace

std::optional<TileWay> choose_way(const Item& item, const runtime::CallDescription& call, const InTiles::Operands& operands,
                                  const runtime::TilePreference& tiles, runtime::Device& device) {
  const InTiles& op = *item.as<LibraryOp>().in_tiles();
  if (device.candidates(call).empty()) {
    std::vector<TileWay> ways = op.ways_in_tiles(call, operands, tiles);
    return ways.empty() ? std::nullopt : std::optional(std::move(ways.front()));
  }
  const CallChoice choice = runtime::call_choice();
  if (choice == CallChoice::Library || tiles.ladder.on) return std::nullopt;
  if (choice == CallChoice::Remembered && !runtime::tuning_file().knows_some(kCall)) return std::nullopt;
  const std::string section = runtime::fingerprint(device), key = key_of(item, call, operands);
  std::optional<std::string> text = choice == CallChoice::Tiles ? std::nullopt : runtime::tuning_file().find(section, key);
  if (text == kLibrary || (!text && choice == CallChoice::Remembered)) return std::nullopt;
  std::vector<TileWay> ways = op.ways_in_tiles(call, operands, tiles);
  if (ways.empty()) return std::nullopt;
  if (choice == CallChoice::Tiles) return ways.front();
  const auto named = [&] { return std::ranges::find_if(ways, [&](const TileWay& way) { return way.text == text; }); };
  if (named() == ways.end() && choice == CallChoice::Measured) {
    const Fastest best = fastest(call, ways, operands, tiles, device);
    runtime::tuning_file().store(section, key, best.text, best.seconds * 1e6);
    text = best.text;
  }
  const auto found = named();
  return found == ways.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tegula::compile
