#include "tests/support/emulator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "tegula/core/error.h"
#include "tegula/emulator/image.h"
#include "tegula/emulator/threads.h"
#include "tegula/simt/decide/layout.h"
#include "tegula/simt/printed.h"
#include "tests/support/cpu_candidates.h"
#include "tests/support/gradient_product.h"

namespace tegula::gpu {
namespace {

/// The text of a function that calls a kernel once for each thread: `call_` and its name.
std::string entry(const Generated& code, const Specialisation& specialisation) {
  const std::string n = code.name;
  const std::string guards =
      std::string(specialisation.guarded ? ", c.guards, c.guard_count" : "") +
      (code.source.find("PrintBuffer* printed)") != std::string::npos ? ", static_cast<PrintBuffer*>(c.printed));\n" : ");\n");
  std::string s = "extern \"C\" void call_" + n + "(void* p) {\n  const emulated::Call& c = *static_cast<const emulated::Call*>(p);\n";
  if (specialisation.many_sets)
    s += "  " + n + "(static_cast<const Set_" + n + "*>(c.sets), c.count, static_cast<Failure*>(c.failure)" + guards;
  else
    s += "  " + n + "(*static_cast<const Arguments_" + n + "*>(c.sets), c.grid[0], c.grid[1], c.grid[2], static_cast<Failure*>(c.failure)" +
         guards;
  return s + "}\n";
}

/// The argument of call_…; kCall is the same for the unit.
struct EmulatedCall {
  const void* sets;  // or the arguments of the only one
  const std::int64_t* grid;
  int count;
  void* failure;
  const void* guards;
  int guard_count;
  void* printed;
};
constexpr const char* kCall =
    "namespace emulated { struct Call { const void* sets; const int64_t* grid; int count; void* failure; const Failure* guards; int "
    "guard_count; void* printed; }; }\n";

std::string text_of(const std::string& file) {
  std::ifstream from(source_folder() + "/tests/support/" + file);
  return std::string((std::istreambuf_iterator<char>(from)), {});
}

const emulator::Image& image_of(const std::string& unit) { return emulator::Image::of(unit, emulator::Checked::No, "emulator"); }

/// A compiled kernel.
struct Compiled {
  const emulator::Image* image = nullptr;
  void (*body)(void*) = nullptr;
};

/// The compiled kernels, by source without comments: each is compiled once per process.
std::map<std::string, Compiled>& known() {
  static std::map<std::string, Compiled> all;
  return all;
}

using Variant = std::pair<Generated, Specialisation>;

/// Compiles those that are not known yet, in one unit: to start the compiler takes as long as a dozen kernels.
void compile(const std::vector<Variant>& variants) {
  static const std::string before = emulator::words(emulator::Checked::No) + prelude() + text_of("emulated_types.h") + kCall;
  std::string unit;
  std::vector<const Generated*> missing;
  for (const auto& [code, specialisation] : variants) {
    if (!known().try_emplace(without_comments(code.source)).second) continue;
    unit += code.source + entry(code, specialisation);
    missing.push_back(&code);
  }
  if (missing.empty()) return;
  try {
    const emulator::Image& image = image_of(before + unit);
    for (const Generated* code : missing)
      known()[without_comments(code->source)] = {&image, reinterpret_cast<void (*)(void*)>(image.find("call_" + code->name))};
  } catch (...) {
    for (const Generated* code : missing) known().erase(without_comments(code->source));
    throw;
  }
}

[[noreturn]] void stuck(const std::string& kernel, const std::string& what = "") {
  throw Error({.op = "emulator",
               .got = "threads of " + kernel + " that wait for each other" + (what.empty() ? "" : ": " + what),
               .expected = "the same barriers in all threads"});
}

/// Throws Error where threads wait for each other for ever.
void run(const std::string& kernel, const Compiled& code, void* argument, long long blocks, int cluster, int threads, std::size_t shared,
         unsigned order, bool uneven) {
  const emulator::Stopped stopped = emulator::run({.state = &code.image->state(),
                                                   .body = code.body,
                                                   .argument = argument,
                                                   .grid = {static_cast<unsigned>(blocks), 1, 1},
                                                   .block = {static_cast<unsigned>(threads), 1, 1},
                                                   .cluster = cluster,
                                                   .shared_bytes = shared,
                                                   .order = order,
                                                   .uneven = uneven});
  if (!stopped.what.empty()) stuck(kernel, stopped.what);
}

class EmulatedKernel final : public runtime::Kernel {
 public:
  EmulatedKernel(const tile::Program& program, const EmulationOptions& options) : program_(program), options_(options) {
    generate(program_, {.facts = std::vector<std::uint8_t>(program_.parameters.size(), 0)}, options_.architecture);
  }

  /// The code that a launch runs.
  Variant variant(std::span<const runtime::ArgumentSet> sets, bool guarded) const {
    const Specialisation specialisation = known_of(sets, guarded);
    Generated code = generate(program_, specialisation, options_.architecture);
    if (options_.change) code.source = options_.change(std::move(code.source));
    return {std::move(code), specialisation};
  }

  void launch(std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& launch_options) const override {
    static unsigned launches = 0;
    const unsigned launch = launches++;
    const bool uneven = options_.pace == Pace::Uneven || (options_.pace == Pace::Changing && launch % 3 == 2);
    if (!options_.is_text()) return by_machine(sets, launch_options, {.uneven = uneven, .order = launch});
    const Variant chosen = variant(sets, !launch_options.guards.empty());
    const auto& [code, specialisation] = chosen;
    long long instances = 0;
    std::vector<std::byte> memory;
    const std::size_t words = program_.parameters.size();
    const auto append = [&](const void* from, std::size_t bytes) {
      memory.resize(memory.size() + bytes);
      std::memcpy(memory.data() + memory.size() - bytes, from, bytes);
    };
    for (const runtime::ArgumentSet& set : sets) {
      const long long first = instances;
      if (specialisation.many_sets) {
        append(&first, 8);
        append(set.grid.data(), 24);
      }
      append(set.arguments, 8 * words);
      instances += set.grid[0] * set.grid[1] * set.grid[2];
    }
    if (instances == 0) return;
    memory.resize(memory.size() + 16);
    runtime::Failure local;
    void* failure = launch_options.failure ? launch_options.failure : &local;
    compile({chosen});
    const auto printed = std::make_unique<simt::PrintBuffer>();
    EmulatedCall call{memory.data(),
                      sets.empty() ? nullptr : sets[0].grid.data(),
                      static_cast<int>(sets.size()),
                      failure,
                      launch_options.guards.data(),
                      static_cast<int>(launch_options.guards.size()),
                      printed.get()};
    run(code.name, known()[without_comments(code.source)], &call, instances * code.cluster, code.cluster, code.threads, code.shared_bytes,
        launch, uneven);
    show_printed(simt::printed_words(program_), *printed);
  }

  std::string listing() const override {
    return generate(program_, {.facts = std::vector<std::uint8_t>(program_.parameters.size(), 0)}, options_.architecture).source;
  }

  bool is_text() const { return options_.is_text(); }

 private:
  Specialisation known_of(std::span<const runtime::ArgumentSet> sets, bool guarded) const {
    Specialisation specialisation = specialise(program_, sets);
    if (!options_.aligned) {  // nothing is known
      std::fill(specialisation.facts.begin(), specialisation.facts.end(), std::uint8_t{0});
      specialisation.one_axis = false;
    }
    specialisation.guarded = guarded;
    return specialisation;
  }

  void by_machine(std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& how, simt::MachineOptions options) const {
    std::unique_ptr<simt::Machine>& machine = machines_[known_of(sets, !how.guards.empty())];
    if (!machine) {
      simt::Kernel kernel = make_kernel(program_, known_of(sets, !how.guards.empty()), options_.architecture);
      if (options_.change_kernel) options_.change_kernel(kernel);
      machine = std::make_unique<simt::Machine>(std::move(kernel));
    }
    std::vector<std::span<const std::byte>> memory;
    if (options_.memory) memory = options_.memory(sets);
    options.memory = memory, options.instances_meet = options_.instances_meet;
    runtime::Failure local;
    const simt::Observed observed = machine->run({sets, how.failure ? how.failure : &local, how.guards}, options);
    if (options_.observed) *options_.observed = observed;
    if (observed.stuck) stuck(program_.name);
    if (!options_.observed && !observed.findings.empty())
      throw Error(
          {.op = "emulator", .got = "a kernel of " + program_.name + " in which\n" + to_string(observed), .expected = "none of that"});
  }

  tile::Program program_;
  EmulationOptions options_;
  mutable std::map<Specialisation, std::unique_ptr<simt::Machine>> machines_;
};

/// The values of E4M3 codes.
float e4m3_value(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9) : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return code & 128 ? -magnitude : magnitude;
}

class CodesProduct final : public runtime::Call {
 public:
  explicit CodesProduct(const runtime::Matmul& d) : d_(d) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    const auto *a = static_cast<const std::uint8_t*>(buffers[0]), *b = static_cast<const std::uint8_t*>(buffers[1]);
    const float factor = *static_cast<const float*>(buffers[2]) * *static_cast<const float*>(buffers[3]);
    const Shape& c = d_.c.layout.shape;
    for (std::int64_t i = 0; i < c[0]; ++i) {
      for (std::int64_t j = 0; j < c[1]; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < d_.a.layout.shape[1]; ++k)
          sum += e4m3_value(a[i * d_.a.layout.strides[0] + k]) * e4m3_value(b[j * d_.b.layout.strides[1] + k]);
        visit(d_.dtype(), [&](auto zero) {
          static_cast<decltype(zero)*>(buffers[4])[i * d_.c.layout.strides[0] + j] = from_double<decltype(zero)>(sum * factor);
        });
      }
    }
  }
  std::string describe() const override { return "naive product of codes"; }

 private:
  runtime::Matmul d_;
};

class CpuWithKernels final : public runtime::Device, public runtime::ProgramCompiler {
 public:
  using Compile = std::function<std::unique_ptr<runtime::Kernel>(const tile::Program&)>;
  explicit CpuWithKernels(Compile compile)
      : Device({.name = "emulated", .tiles = tiles_for(Card()), .costs = runtime::cpu().costs()}),
        compile_(std::move(compile)) {}
  runtime::DeviceMemory& pool() override { return cpu_.pool(); }
  runtime::DeviceQueues& queues() override { return queues_; }
  runtime::ProgramCompiler& compiler() override { return *this; }
  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override { return compile_(program); }
  /// Products as a GPU has them, sums, derivatives and codes included; attention is plain ops.
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    if (!product) return test::cpu_candidates(d);
    if (!is_gradient(*product) && !product->multiplies_codes() && test::cpu_candidates(d).empty()) return {};
    return {{d, {}, programs_are_faster(*product)}};
  }
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription& d) override {
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    if (product && product->multiplies_codes()) return std::make_unique<CodesProduct>(*product);
    if (product && is_gradient(*product)) return std::make_unique<test::GradientProduct>(cpu_, *product);
    return cpu_.make(d);
  }

 private:
  static bool is_gradient(const runtime::Matmul& d) { return d.epilogue == runtime::gelu_tanh_gradient(d.dtype()); }

  runtime::Device& cpu_ = runtime::cpu();
  Compile compile_;
  runtime::ImmediateQueues queues_{*this};
};

}  // namespace

void emulate(const PlainKernel& kernel, std::span<void* const> pointers, int cluster, std::size_t shared_bytes) {
  std::string call;
  for (std::size_t i = 0; i < pointers.size(); ++i) call += (i > 0 ? ", Pointer{c[" : "Pointer{c[") + std::to_string(i) + "]}";
  const std::string entry =
      "struct Pointer { void* p; template <class T> operator T*() const { return static_cast<T*>(p); } };\n"
      "extern \"C\" void call(void* p) { void* const* c = static_cast<void* const*>(p); " +
      kernel.name + "(" + call + "); }\n";
  static unsigned order = 0;
  const emulator::Image& image = image_of(emulator::words(emulator::Checked::No) + text_of("emulated_product.h") + kernel.source + entry);
  run(kernel.name, {&image, reinterpret_cast<void (*)(void*)>(image.find("call"))}, const_cast<void**>(pointers.data()), kernel.blocks,
      cluster, kernel.threads, std::max(kernel.shared, shared_bytes), order++, false);
}

std::unique_ptr<runtime::Kernel> emulated_kernel(const tile::Program& program, const EmulationOptions& options) {
  return std::make_unique<EmulatedKernel>(program, options);
}

void compile_together(std::span<const runtime::PlannedLaunch> launches) {
  std::vector<Variant> variants;
  for (const runtime::PlannedLaunch& launch : launches) {
    const auto& kernel = static_cast<const EmulatedKernel&>(*launch.kernel);
    if (kernel.is_text()) variants.push_back(kernel.variant(launch.sets, launch.guarded));
  }
  if (!variants.empty()) compile(variants);
}

std::unique_ptr<runtime::Device> device_with(std::function<std::unique_ptr<runtime::Kernel>(const tile::Program&)> compile) {
  return std::make_unique<CpuWithKernels>(std::move(compile));
}

runtime::Device& emulated_device() {
  static const auto device = device_with([](const tile::Program& program) { return emulated_kernel(program); });
  return *device;
}

}  // namespace tegula::gpu
