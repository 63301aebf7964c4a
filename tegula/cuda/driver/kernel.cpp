#include "tegula/cuda/driver/kernel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/setting.h"
#include "tegula/core/warning.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

using runtime::Argument;
using runtime::ArgumentSet;

/// The bytes that a kernel takes by value in its parameters; more go through a table. The hardware's limit is 4 KiB on older drivers.
constexpr std::size_t kMaxParameterBytes = 4000;

/// The size of a compilation unit of generated source. NVRTC compiles one unit at a time, and the prelude costs as much as ten thousand characters.
constexpr std::size_t kUnitCharacters = 24000;

std::int64_t instances_of(const ArgumentSet& set) { return set.grid[0] * set.grid[1] * set.grid[2]; }

/// Returns the sets but those that have nothing to do.
std::vector<ArgumentSet> nonempty(std::span<const ArgumentSet> sets) {
  std::vector<ArgumentSet> kept;
  kept.reserve(sets.size());
  for (const ArgumentSet& set : sets) {
    if (instances_of(set) > 0) kept.push_back(set);
  }
  return kept;
}

/// The sets as the kernel reads them: { first_instance, grid[3], arguments… } each.
std::vector<std::int64_t> table_of(std::span<const ArgumentSet> sets, std::size_t parameters) {
  std::vector<std::int64_t> table(sets.size() * (4 + parameters));
  std::int64_t first = 0;
  auto* row = table.data();
  for (const ArgumentSet& set : sets) {
    row[0] = first;
    std::copy(set.grid.begin(), set.grid.end(), row + 1);
    if (parameters > 0) std::memcpy(row + 4, set.arguments, parameters * sizeof(Argument));
    first += instances_of(set);
    row += 4 + parameters;
  }
  return table;
}

/// The maps of a variant for one set. Fewer than the kernel takes where the driver cannot make one of these arguments.
std::vector<CUtensorMap> maps_of(const Generated& code, const Argument* arguments) {
  std::vector<CUtensorMap> maps;
  for (const simt::TensorMap& map : code.maps) {
    const auto size = [&](const simt::TensorMap::Size& one) { return one.parameter < 0 ? one.number : arguments[one.parameter].integer; };
    const std::int64_t bytes = static_cast<std::int64_t>(size_of(map.dtype)), stride = size(map.stride) * bytes;
    const auto at_least_one = [&](const simt::TensorMap::Size& one) {
      return static_cast<cuuint64_t>(std::max<std::int64_t>(size(one), 1));
    };
    constexpr cuuint64_t kPlanes = cuuint64_t{1} << 30;  // nothing says how many there are
    std::vector<cuuint64_t> sizes{at_least_one(map.columns), at_least_one(map.rows)}, strides{static_cast<cuuint64_t>(stride)};
    // In boxes whose rows are `step` apart the driver also counts the rows between them.
    const auto whole = [](int count, int step) { return static_cast<cuuint32_t>((count - 1) * step + 1); };
    std::vector<cuuint32_t> box{static_cast<cuuint32_t>(map.box_columns), whole(map.box_rows, map.row_step)};
    std::vector<cuuint32_t> steps{1, static_cast<cuuint32_t>(map.row_step)};
    bool ahead = stride > 0;
    for (const simt::TensorMap::Plane& plane : map.planes) {
      const std::int64_t distance = simt::TensorMap::distance(plane, size) * bytes;
      ahead = ahead && distance > 0;
      sizes.push_back(plane.size ? at_least_one(*plane.size) : kPlanes), strides.push_back(static_cast<cuuint64_t>(distance));
      box.push_back(whole(plane.box, plane.step)), steps.push_back(static_cast<cuuint32_t>(plane.step));
    }
    const CUtensorMapSwizzle swizzle = map.pitch == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                       : map.pitch == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                         : CU_TENSOR_MAP_SWIZZLE_32B;
    const CUtensorMapDataType type = size_of(map.dtype) == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8  // bits are copied, zeros are put in
                                     : map.dtype == DType::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                               : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const auto rank = static_cast<cuuint32_t>(box.size());
    const CUresult made = !ahead ? CUDA_ERROR_INVALID_VALUE
                                 : cuTensorMapEncodeTiled(&maps.emplace_back(), type, rank, arguments[map.pointer].pointer, sizes.data(),
                                                          strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                                          CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (made != CUDA_SUCCESS) return {};
  }
  return maps;
}

CUlaunchAttribute cluster_attribute(const Generated& code) {
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = static_cast<unsigned>(code.cluster);
  cluster.value.clusterDim.y = 1;
  cluster.value.clusterDim.z = 1;
  return cluster;
}

/// Returns the blocks that the card holds at a time; whole clusters of them.
std::int64_t blocks_at_a_time(const Context& context, const Generated& code, CUfunction function) {
  int count = 0;
  if (code.cluster == 1) {
    check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, code.threads, code.shared_bytes), code.name);
    return std::int64_t{std::max(count, 1)} * context.card.multiprocessors;
  }
  CUlaunchAttribute cluster = cluster_attribute(code);
  CUlaunchConfig launch{};
  launch.gridDimX = static_cast<unsigned>(code.cluster * context.card.multiprocessors);
  launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = static_cast<unsigned>(code.threads);
  launch.blockDimY = launch.blockDimZ = 1;
  launch.sharedMemBytes = static_cast<unsigned>(code.shared_bytes);
  launch.attrs = &cluster, launch.numAttrs = 1;
  check(cuOccupancyMaxActiveClusters(&count, function, &launch), code.name);
  return std::int64_t{std::max(count, 1)} * code.cluster;
}

void start(Context& context, const Function& function, std::int64_t instances, void** parameters) {
  const Generated& code = function.generated;
  const std::int64_t all = instances * code.cluster, blocks = code.stays ? std::min(all, function.most_blocks) : all;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error({.op = code.name, .got = std::to_string(instances) + " program instances", .expected = "at most 2^31 - 1 blocks"});
  }
  CUlaunchAttribute cluster = cluster_attribute(code);
  CUlaunchConfig launch{};
  launch.gridDimX = static_cast<unsigned>(blocks);
  launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = static_cast<unsigned>(code.threads);
  launch.blockDimY = launch.blockDimZ = 1;
  launch.sharedMemBytes = static_cast<unsigned>(code.shared_bytes);
  launch.hStream = context.stream();
  launch.attrs = &cluster;
  launch.numAttrs = code.cluster > 1 ? 1 : 0;
  check(cuLaunchKernelEx(&launch, function.handle, parameters, nullptr), code.name);
  if (Capture* capture = code.early ? Capture::current(context) : nullptr) capture->waits_itself();
  context.queued(code.name.c_str());
}

}  // namespace

void CodeCache::request(const std::vector<AskedKernel>& wanted) {
  const std::scoped_lock lock(mutex_);
  start(wanted);
}

std::vector<const Function*> CodeCache::compile(const std::vector<AskedKernel>& wanted) {
  const std::scoped_lock lock(mutex_);
  start(wanted);
  std::vector<const Function*> found;
  found.reserve(wanted.size());
  for (const AskedKernel& asked : wanted) {
    const std::string& name = asked.known.generated.name;
    if (const auto begun = begun_.find(name); begun != begun_.end()) {
      const std::shared_ptr<const Unit> unit = begun->second;
      for (const KnownKernel& kernel : unit->kernels) begun_.erase(kernel.generated.name);
      finish(*unit);
    }
    found.push_back(&functions_.at(name));
  }
  return found;
}

void CodeCache::Unit::add(const AskedKernel& kernel) {
  kernels.push_back(kernel.known);
  texts.push_back(kernel.text);
  characters += 1 + kernel.known.characters;
}

/// Compiles in units of bounded size. A unit's content depends on the list alone, so the cache on disk finds it again. Brought code is a unit as it comes.
void CodeCache::start(const std::vector<AskedKernel>& wanted) {
  std::vector<std::shared_ptr<Unit>> units;
  std::map<const std::vector<char>*, std::shared_ptr<Unit>> brought_units;
  for (const AskedKernel& asked : wanted) {
    const std::string& name = asked.known.generated.name;
    if (functions_.contains(name) || begun_.contains(name)) continue;
    if (const Code code = brought(asked.known.key); code.valid()) {
      auto& unit = brought_units[&code.get()];
      if (!unit) unit = std::make_shared<Unit>(), unit->cubin = code, unit->is_brought = true;
      unit->add(asked);
      begun_.emplace(name, unit);
      continue;
    }
    if (units.empty() || units.back()->characters + asked.known.characters > kUnitCharacters) units.push_back(std::make_shared<Unit>());
    units.back()->add(asked);
    begun_.emplace(name, units.back());
  }
  kernel_index().flush();
  for (const auto& unit : units) {
    std::string keys;
    for (const KnownKernel& kernel : unit->kernels) keys += kernel.key + "\n";
    const auto text = [texts = std::exchange(unit->texts, {})] {
      std::string all;
      for (const auto& one : texts) all += "\n" + one();
      return all;
    };
    unit->cubin = compile_kernels_later(std::move(keys), text, context_.card.architecture);
  }
  note(wanted);
}

void CodeCache::note(const std::vector<AskedKernel>& wanted) {
  for (const AskedKernel& asked : wanted) {
    const std::string& name = asked.known.generated.name;
    if (const auto found = functions_.find(name); found != functions_.end()) note(found->second);
    else asked_.note(asked.known.key, begun_.at(name)->cubin);
  }
}

CUmodule CodeCache::module_of(const Unit& unit) {
  const std::vector<char>& image = unit.cubin.get();
  context_.enter();
  CUmodule module = nullptr;
  CUmodule& loaded = unit.is_brought ? brought_modules_[&image] : module;
  if (!loaded) check(cuModuleLoadData(&loaded, image.data()), "loading compiled kernels");
  return loaded;
}

void CodeCache::finish(const Unit& unit) {
  const CUmodule module = module_of(unit);
  for (const KnownKernel& kernel : unit.kernels) {
    const Generated& generated = kernel.generated;
    Function function{.generated = generated, .key = kernel.key, .code = unit.cubin};
    const std::string& name = generated.name;
    check(cuModuleGetFunction(&function.handle, module, name.c_str()), name);
    if (generated.shared_bytes > 0) {
      check(cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(generated.shared_bytes)),
            name);
    }
    if (generated.stays) function.most_blocks = blocks_at_a_time(context_, generated, function.handle);
    constexpr int portable_cluster = 8;
    if (generated.cluster > portable_cluster) {
      check(cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), name);
    }
#if CUDA_VERSION >= 12040
    check(cuFuncLoad(function.handle), name);  // now, not within a recording
#endif
    functions_.emplace(generated.name, std::move(function));
  }
}

Specialisation Kernel::variant_for(std::span<const ArgumentSet> sets, bool guarded) const {
  Specialisation variant = specialise(*program_, sets);
  static const bool maps = word_set("TEGULA_TENSOR_MAPS", {"0", "1"}, "cuda") != std::size_t{0};
  variant.guarded = guarded, variant.maps = variant.maps && maps;
  variant.many_sets = sets.size() > 1 || program_->parameters.size() * sizeof(Argument) > kMaxParameterBytes;
  return variant;
}

const Function* Kernel::find(const Specialisation& variant) const {
  const std::scoped_lock lock(mutex_);
  const auto found = variants_.find(variant);
  return found == variants_.end() ? nullptr : found->second;
}

const Function* Kernel::remember(const Specialisation& variant, const Function* function) const {
  const std::scoped_lock lock(mutex_);
  requested_.erase(variant);
  return variants_.emplace(variant, function).first->second;
}

/// TEGULA_PRINT=decide shows the decisions about it first.
Generated Kernel::generate_variant(const Specialisation& variant) const {
  show_decisions(variant);
  return generate(*program_, variant, context_.card.architecture);
}

void Kernel::show_decisions(const Specialisation& variant) const {
  if (listed("TEGULA_PRINT", "decide"))
    show_text("print.decide", "// " + program_->name + "\n" + decisions_of(*program_, variant, context_.card.architecture));
}

/// Returns the kernel by the index, or by its text, which the index then knows. TEGULA_CHECK=plan makes the text anyway, and compares.
AskedKernel Kernel::asked_for(const Specialisation& variant) const {
  const int architecture = context_.card.architecture;
  const std::string id = kernel_id(*program_, variant, architecture);
  std::optional<KnownKernel> known = kernel_index().find(id);
  if (known && !checking(Check::Plan)) {
    show_decisions(variant);
    return {*std::move(known),
            [program = program_, variant, architecture] { return without_comments(generate(*program, variant, architecture).source); }};
  }
  KnownKernel made{generate_variant(variant), {}, 0};
  std::string text = without_comments(std::exchange(made.generated.source, {}));
  static const std::string prelude_key = code_key("prelude", prelude(), 0, Products::Rounded);
  made.key = code_key(made.generated.name, prelude_key + "\n" + text, architecture, Products::Rounded);
  made.characters = text.size();
  if (known && known->key != made.key) {
    throw Error({.op = "cuda",
                 .got = "the kernel " + known->generated.name + " in the cache's index of kernels",
                 .expected = made.generated.name,
                 .advice = "remove the files *.kernels of the cache"});
  }
  if (!known) kernel_index().note(id, made);
  return {std::move(made), [text = std::move(text)] { return text; }};
}

/// Kept until the function is there.
AskedKernel Kernel::requested(const Specialisation& variant) const {
  const std::scoped_lock lock(mutex_);
  if (const auto found = requested_.find(variant); found != requested_.end()) return found->second;
  return requested_.emplace(variant, asked_for(variant)).first->second;  // which may throw: then nothing is kept
}

/// Compiled now, unless it was before.
const Function& Kernel::function_for(const Specialisation& variant) const {
  const Function* function = find(variant);
  return function ? *function : *remember(variant, code_.compile({asked_for(variant)}).front());
}

Kernel::Printing& Kernel::printing() const {
  const bool recorded = Capture::current(context_) != nullptr;
  if (!recorded && usual_) return *usual_;
  Printing& one = printing_.emplace_back(Printing{this, allocate_shared(context_, sizeof(simt::PrintBuffer))});
  new (one.memory->data()) simt::PrintBuffer;
  if (!recorded) usual_ = &one;
  return one;
}

/// Runs on a thread of the driver, when the launch is over.
void Kernel::show(void* printing) {
  const Printing& one = *static_cast<const Printing*>(printing);
  try {
    simt::show_printed(one.kernel->prints_, one.buffer());
  } catch (...) { one.kernel->context_.host_failed(std::current_exception()); }
}

void Kernel::launch(std::span<const ArgumentSet> sets, const runtime::LaunchOptions& options) const {
  const std::vector<ArgumentSet> work = nonempty(sets);
  if (work.empty()) return;
  Specialisation variant = variant_for(work, !options.guards.empty());
  const Function* chosen = &function_for(variant);
  std::vector<CUtensorMap> maps = maps_of(chosen->generated, work.front().arguments);
  if (maps.size() < chosen->generated.maps.size()) {  // the driver does not take them
    variant.maps = false, maps.clear();
    chosen = &function_for(variant);
  }
  const Function& function = *chosen;

  const std::scoped_lock lock(context_.order);
  context_.enter();
  runtime::Failure* failure = options.failure;
  const runtime::Failure* guards = options.guards.data();
  int guard_count = static_cast<int>(options.guards.size());
  Printing* const printing = prints_.empty() ? nullptr : &this->printing();
  simt::PrintBuffer* printed = printing ? &printing->buffer() : nullptr;
  const auto begin = [&](std::initializer_list<void*> head, std::int64_t instances) {
    std::array<void*, 9> few{};  // nearly all kernels take no maps: nothing is allocated for them
    std::vector<void*> many(maps.empty() ? 0 : few.size() + maps.size());
    void** const parameters = maps.empty() ? few.data() : many.data();
    void** next = parameters;
    *next++ = *head.begin();
    for (CUtensorMap& map : maps) *next++ = &map;
    next = std::copy(head.begin() + 1, head.end(), next);
    *next++ = &failure;
    if (variant.guarded) *next++ = &guards, *next++ = &guard_count;
    *next = &printed;  // which only a kernel that prints takes
    start(context_, function, instances, parameters);
    if (printing) check(cuLaunchHostFunc(context_.stream(), &Kernel::show, printing), function.generated.name);
  };
  if (!variant.many_sets) {
    const ArgumentSet& set = work.front();
    std::array<std::int64_t, 3> grid = set.grid;
    Argument none{.integer = 0};  // an empty struct still has a byte
    auto* arguments = program_->parameters.empty() ? &none : const_cast<Argument*>(set.arguments);
    return begin({arguments, &grid[0], &grid[1], &grid[2]}, instances_of(set));
  }
  const std::vector<std::int64_t> table = table_of(work, program_->parameters.size());
  const auto bytes = std::as_bytes(std::span(table));
  std::optional<BriefMemory> memory;  // given back after the launch
  void* on_device = nullptr;
  if (Capture* capture = Capture::current(context_)) {
    on_device = capture->constant(bytes);
  } else {
    on_device = memory.emplace(context_, bytes.size()).data();
    context_.staging->copy_in(device_pointer(on_device), bytes.data(), bytes.size());
  }
  int count = static_cast<int>(work.size());
  begin({&on_device, &count}, table[table.size() - 4 - program_->parameters.size()] + instances_of(work.back()));
}

std::string Kernel::listing() const {
  {
    const std::scoped_lock lock(mutex_);
    std::string text;
    for (const auto& [variant, function] : variants_) text += generate(*program_, variant, context_.card.architecture).source;
    if (!text.empty()) return text;
  }
  // Nothing was launched: what would be compiled when nothing is known about the arguments.
  return generate_variant({.facts = std::vector<std::uint8_t>(program_->parameters.size(), 0)}).source;
}

std::string Kernel::listing_of(const runtime::PlannedLaunch& launch) const {
  const std::vector<ArgumentSet> work = nonempty(launch.sets);
  return work.empty() ? "" : generate_variant(variant_for(work, launch.guarded)).source;
}

std::string Kernel::assembly(const runtime::PlannedLaunch& launch) const {
  const std::string source = listing_of(launch);
  return source.empty() ? "" : compile_ptx(with_prelude(source), context_.card.architecture);
}

std::optional<runtime::KernelFigures> Kernel::figures(const runtime::PlannedLaunch& launch) const {
  const std::vector<ArgumentSet> work = nonempty(launch.sets);
  if (work.empty()) return {};
  const Function& function = function_for(variant_for(work, launch.guarded));
  const Generated& code = function.generated;
  context_.enter();
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    check(cuFuncGetAttribute(&value, which, function.handle), code.name);
    return value;
  };
  runtime::KernelFigures figures{.threads = code.threads, .registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS)};
  for (const ArgumentSet& set : work) figures.blocks += instances_of(set) * code.cluster;
  figures.local_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  figures.shared_bytes = code.shared_bytes + static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&figures.resident_blocks, function.handle, code.threads, code.shared_bytes), code.name);
  int threads = 0;
  check(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, context_.device), code.name);
  figures.occupancy = static_cast<double>(figures.resident_blocks * code.threads) / std::max(threads, 1);
  return figures;
}

/// The kernels of launches that have no function yet, each once, in the order of the launches, so that the text of a unit, by which it is
/// cached on disk, is the same in every process.
class Wanted {
 public:
  Wanted(CodeCache& code, std::span<const runtime::PlannedLaunch> launches) {
    for (const runtime::PlannedLaunch& launch : launches) {
      const auto& kernel = static_cast<const Kernel&>(*launch.kernel);  // the kernels of a device are made by it
      const std::vector<ArgumentSet> work = nonempty(launch.sets);
      if (work.empty()) continue;
      std::pair<const Kernel*, Specialisation> one{&kernel, kernel.variant_for(work, launch.guarded)};
      if (const Function* const there = kernel.find(one.second)) code.note(*there);
      else if (std::ranges::find(list_, one) == list_.end()) add(std::move(one));
    }
  }
  const std::vector<AskedKernel>& kernels() const { return kernels_; }
  void remember(const std::vector<const Function*>& functions) const {
    for (std::size_t i = 0; i < list_.size(); ++i) list_[i].first->remember(list_[i].second, functions[i]);
  }

 private:
  void add(std::pair<const Kernel*, Specialisation> one) {
    kernels_.push_back(one.first->requested(one.second));
    list_.push_back(std::move(one));
  }
  std::vector<std::pair<const Kernel*, Specialisation>> list_;
  std::vector<AskedKernel> kernels_;
};

void request(CodeCache& code, std::span<const runtime::PlannedLaunch> launches) { code.request(Wanted(code, launches).kernels()); }

void prepare(CodeCache& code, std::span<const runtime::PlannedLaunch> launches) {
  const Wanted wanted(code, launches);
  if (!wanted.kernels().empty()) wanted.remember(code.compile(wanted.kernels()));
}

}  // namespace tegula::gpu
