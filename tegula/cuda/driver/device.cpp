#include "tegula/cuda/driver/device.h"
#include "tegula/cuda/blas/blas_e4m3.h"
#include "tegula/cuda/blas/blas_gradient.h"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/driver/host_turn.h"
#include "tegula/cuda/driver/joining.h"
#include "tegula/cuda/driver/kernel.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/ordered_call.h"
#include "tegula/cuda/driver/peers.h"
#include "tegula/cuda/driver/progress.h"
#include "tegula/cuda/driver/properties.h"
#include "tegula/cuda/driver/queue.h"
#include "tegula/cuda/driver/recording.h"
#include "tegula/cuda/driver/time_marks.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/plain_split_product.h"
#include "tegula/cuda/nccl/communicator.h"
#include "tegula/runtime/operand_layout.h"
#include "tegula/runtime/peer_copies.h"
#include "tegula/simt/layout.h"

namespace tegula::gpu {
namespace {

constexpr int kOldestArchitecture = 80;
/// Any driver of the toolkit's major version runs what it compiled.
constexpr int kOldestDriver = CUDA_VERSION / 1000 * 1000;

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(cuDeviceGetAttribute(&value, which, device), "cuda");
  return value;
}

int architecture_of(CUdevice device) {
  return 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string name_of(CUdevice device) {
  char name[256] = {};
  check(cuDeviceGetName(name, sizeof name, device), "cuda");
  return name;
}

[[noreturn]] void no_device() {
  throw Error({.op = "cuda",
               .got = "no NVIDIA GPU",
               .expected = "at least one that the driver sees",
               .advice = "nvidia-smi lists what the driver sees; CUDA_VISIBLE_DEVICES hides devices from programs"});
}

std::vector<CUdevice> usable_devices() {
  int driver = 0;
  check(cuDriverGetVersion(&driver), "cuda");
  if (driver < kOldestDriver) {
    throw Error({.op = "cuda",
                 .got = "an NVIDIA driver for CUDA " + version_text(driver),
                 .expected = "CUDA " + version_text(kOldestDriver) + " or newer, for which this library was built",
                 .advice = "update the driver"});
  }
  const CUresult started = cuInit(0);
  if (started == CUDA_ERROR_NO_DEVICE) no_device();
  check(started, "cuda");
  int count = 0;
  check(cuDeviceGetCount(&count), "cuda");
  if (count == 0) no_device();
  std::vector<CUdevice> usable;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    check(cuDeviceGet(&device, i), "cuda");
    const int architecture = architecture_of(device);
    if (architecture >= kOldestArchitecture) {
      usable.push_back(device);
    } else {
      too_old += (too_old.empty() ? "" : ", ") + name_of(device) + " (sm_" + std::to_string(architecture) + ")";
    }
  }
  if (!usable.empty()) return usable;
  throw Error(
      {.op = "cuda", .got = too_old, .expected = "a GPU of architecture sm_" + std::to_string(kOldestArchitecture) + " (Ampere) or newer"});
}

class CudaDevice final : public runtime::Device,
                         public runtime::Attends,
                         public runtime::GivesHostTurns,
                         public runtime::Communicates,
                         public runtime::MarksTimes,
                         public runtime::PricesHalves,
                         public runtime::HasSliceRules,
                         public runtime::CopiesPeers {
 public:
  CudaDevice(CUdevice device, int index) : pool_(context_), staging_(context_), code_(context_) {
    context_.device = device;
    context_.index = index;
    context_.card.architecture = architecture_of(device);
    context_.card.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    context_.shared_bytes = static_cast<std::size_t>(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    check(cuDeviceTotalMem(&context_.memory_bytes, device), "cuda");
    context_.name = name_of(device);
    context_.pool = &pool_;
    context_.staging = &staging_;
    check(cuDevicePrimaryCtxRetain(&context_.context, device), "opening " + name());
    context_.enter();
    context_.stream_of(runtime::Use::Compute);
  }

  std::string name() const override { return context_.device_name(); }
  int number() const override { return 1 + context_.index; }
  bool asynchronous() const override { return true; }

  Ref<Buffer> allocate(std::size_t bytes) override { return pool_.allocate(bytes); }
  Ref<Buffer> allocate_for(const runtime::Purpose& purpose, std::size_t bytes) override { return pool_.allocate(bytes, purpose); }
  Ref<Buffer> allocate_shared(std::size_t bytes) override { return gpu::allocate_shared(context_, bytes); }
  PoolCounters memory() const override { return pool_.counters(); }
  void trim_memory() override { pool_.trim(); }

  runtime::Queue& queue(runtime::Use use) override { return queues_[use]; }
  bool copy_from(void* to, runtime::Device& other, const void* from, std::size_t bytes) override {
    const auto* const peer = dynamic_cast<const CudaDevice*>(&other);
    return peer && copy_from_peer(context_, to, peer->context_, from, bytes);
  }

  void synchronize() override { context_.synchronize_all(name()); }

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override {
    return std::make_unique<Kernel>(context_, code_, program);
  }
  void request(std::span<const runtime::PlannedLaunch> launches) override { gpu::request(code_, launches); }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override { gpu::prepare(code_, launches); }

  runtime::TilePreference tiles() const override { return tiles_for(context_.card); }
  /// An H200's, roughly; they only decide which of two steps goes first.
  runtime::StepCosts costs() const override {
    return {.launch_seconds = 2e-6,
            .bytes_per_second = 2e12,
            .tile_operations_per_second = 2e13,
            .call_operations_per_second = 2e13,
            .loop_nodes = 16384};
  }
  bool prefers_sums(std::int64_t results, std::int64_t terms) const override { return gpu::prefers_sums(results, terms); }

  std::unique_ptr<runtime::Call> matmul(const runtime::Matmul& description) override {
    return later(request_matmul, make_matmul, description);
  }
  bool prefers_gradient(const runtime::Matmul& description) override {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return gpu::prefers_gradient(context_, description);
  }
  Seconds price_product(const runtime::Matmul& description) const override { return gpu::price_product(description, context_.card); }
  Seconds price_convolution(double operations, double elements) const override { return gpu::price_convolution(operations, elements); }
  runtime::SliceRules slice_rules() const override { return {.alignment = 16, .worst_distance = 0, .reads_pixels_apart = true}; }
  std::unique_ptr<runtime::Call> convolution(const runtime::Convolution& description) override {
    return later(request_convolution, make_convolution, description);
  }
  std::unique_ptr<runtime::Call> pooling(const runtime::Pooling& description) override { return now(make_pooling, description); }
  std::unique_ptr<runtime::Call> scatter_sum(const runtime::ScatterSum& description) override { return now(make_scatter_sum, description); }
  bool attends(const runtime::Attention& description) const override {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return gpu::attends(context_, description);
  }
  std::unique_ptr<runtime::Call> attention(const runtime::Attention& description) override { return now(make_attention, description); }
  std::unique_ptr<runtime::Call> host_turn(runtime::HostTurn turn) override { return now(make_host_turn, turn); }

  std::unique_ptr<runtime::TimeMark> time_mark() override { return make_time_mark(context_); }

  std::string identity() override { return identity_of(context_.device); }
  std::string engine() override { return nccl_name(); }
  Id draw_id() override {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return draw_nccl_id();
  }
  std::unique_ptr<runtime::Communicator> join(const Id& id, int rank, int size) override {
    return make_communicator(context_, progress_, id, rank, size);
  }
  bool ahead_of_replays(std::function<void()> first) override {
    Capture* const capture = Capture::current(context_);
    if (capture) capture->ahead_of_replays(std::move(first));
    return capture != nullptr;
  }
  double stalled() override { return progress_.stalled(); }
  void confirm_by(std::function<void()> confirm) override { context_.confirm_by(std::move(confirm)); }
  void fail(std::exception_ptr failure) noexcept override { context_.host_failed(std::move(failure)); }

  bool multiplies_e4m3() const override { return context_.card.architecture >= 89; }
  std::unique_ptr<runtime::Call> matmul_e4m3(const runtime::MatmulE4m3& description) override { return now(make_matmul_e4m3, description); }
  bool fuses(DType dtype, runtime::Activation activation) const override { return fuses_activation(dtype, activation); }
  bool fuses_addend(DType dtype) const override { return is_half(dtype); }
  bool prefers_weights_channels_last() const override { return true; }
  bool prefers_channels_last(const runtime::Convolution& description) const override {
    return convolution_prefers_channels_last(context_, description);
  }

  int max_threads() const override { return 1; }
  runtime::DeviceProperties properties() override { return find_properties(context_); }

 private:
  template <class Description>
  std::unique_ptr<runtime::Call> now(std::unique_ptr<runtime::Call> (*make)(Context&, const Description&), const Description& description) {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    return std::make_unique<OrderedCall>(context_, make(context_, description));
  }
  template <class Description>
  std::unique_ptr<runtime::Call> later(void (*request)(Context&, const Description&),
                                       std::unique_ptr<runtime::Call> (*make)(Context&, const Description&),
                                       const Description& description) {
    const std::scoped_lock lock(context_.order);
    context_.enter();
    request(context_, description);
    return std::make_unique<OrderedCall>(context_, [this, make, description] { return make(context_, description); });
  }

  mutable Context context_;  // asking a library opens it
  Pool pool_;
  Staging staging_;
  CodeCache code_;
  runtime::QueuesOf<CudaQueue> queues_{*this, context_};
  Progress progress_{context_};
};

}  // namespace

int count_devices() { return static_cast<int>(usable_devices().size()); }

runtime::Device& open_device(int index) {
  static std::mutex mutex;
  // Never destroyed: tensors may be released by static objects after main.
  static auto* devices = new std::map<int, CudaDevice*>;
  const std::scoped_lock lock(mutex);
  if (const auto found = devices->find(index); found != devices->end()) return *found->second;
  // A context takes longer to make than the compiler to open; where nothing is kept it will be needed.
  std::future<void> compiler;
  if (!anything_compiled()) compiler = std::async(std::launch::async, warm_up_compiler);
  const std::vector<CUdevice> usable = usable_devices();
  if (index < 0 || index >= static_cast<int>(usable.size())) {
    throw Error({.op = "cuda",
                 .got = "device " + std::to_string(index),
                 .expected = "a number below " + std::to_string(usable.size()) + ", the usable GPUs of this machine"});
  }
  auto device = std::make_unique<CudaDevice>(usable[static_cast<std::size_t>(index)], index);
  return *devices->emplace(index, device.release()).first->second;
}

}  // namespace tegula::gpu
