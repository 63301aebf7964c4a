#include "tests/support/queued_device.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <stdexcept>

#include "tegula/runtime/time_marks.h"
#include "tegula/runtime/timeline.h"
#include "tegula/simt/costs.h"
#include "tests/support/cpu_candidates.h"

namespace tegula::test {

struct QueuedDevice::Point final : runtime::Event::Point {
  explicit Point(QueuedDevice& device) : device(device) {}
  bool reached() const override { return done; }
  void wait() const override {
    if (!done) device.synchronize();
  }
  QueuedDevice& device;
  std::atomic<bool> done{false};
};

struct QueuedDevice::Lane::Fed {
  explicit Fed(Lane& lane) : lane(lane), outer(innermost()) { innermost() = this; }
  ~Fed() { innermost() = outer; }
  Fed(const Fed&) = delete;
  Fed& operator=(const Fed&) = delete;
  Lane& lane;
  Fed* outer;
};

struct QueuedDevice::Lane::Replays final : runtime::Recording {
  Replays(Lane& lane, std::list<Work> all, std::vector<Work> first)
      : lane(lane),
        all(std::make_shared<std::list<Work>>(std::move(all))),
        first(std::move(first)) {}
  void replay() override {
    lane.device_.counters.replays++;
    for (const Work& each : first) each();
    lane.put({[work = all] {
      for (const Work& each : *work) each();
    }});
  }
  Lane& lane;
  std::shared_ptr<std::list<Work>> all;
  std::vector<Work> first;
};

QueuedDevice::Lane::Fed*& QueuedDevice::Lane::innermost() {
  thread_local Fed* fed = nullptr;
  return fed;
}

/// Filled with a pattern that is NaN in every float type, so that reads of uncomputed elements are seen.
class QueuedDevice::Memory final : public Buffer {
 public:
  Memory(QueuedDevice& device, std::size_t bytes)
      : Buffer(nullptr, bytes, device.number()),
        device_owner_(device),
        memory_(allocate_host(bytes)) {
    data_ = memory_->data();
    device.lanes_[runtime::Use::Compute].put({[memory = memory_] { std::memset(memory->data(), 0xff, memory->bytes()); }});
  }
  void read(std::size_t offset, void* to, std::size_t bytes) const override {
    device_owner_.synchronize();
    Buffer::read(offset, to, bytes);
  }

 protected:
  // Work that still uses the memory comes first.
  void destroy() const override {
    device_owner_.lanes_[runtime::Use::Compute].put({[memory = memory_] {}});
    delete this;
  }

 private:
  QueuedDevice& device_owner_;
  Ref<Buffer> memory_;
};

class QueuedDevice::QueuedKernel final : public runtime::Kernel {
 public:
  QueuedKernel(QueuedDevice& device, std::unique_ptr<runtime::Kernel> kernel, std::vector<tile::Parameter> parameters)
      : device_(device),
        kernel_(std::move(kernel)),
        parameters_(std::move(parameters)) {}
  const std::vector<tile::Parameter>& parameters() const { return parameters_; }
  const runtime::Kernel& underneath() const { return *kernel_; }
  void launch(std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) const override {
    device_.counters.launches++;
    std::vector<std::vector<runtime::Argument>> arguments;
    std::vector<std::array<std::int64_t, 3>> grids;
    for (const auto& set : sets) {
      arguments.emplace_back(set.arguments, set.arguments + parameters_.size());
      grids.push_back(set.grid);
    }
    device_.submit([kernel = kernel_, arguments = std::move(arguments), grids = std::move(grids), options] {
      if (std::any_of(options.guards.begin(), options.guards.end(), [](const runtime::Failure& guard) { return guard.id >= 0; })) return;
      std::vector<runtime::ArgumentSet> copies;
      for (std::size_t i = 0; i < grids.size(); ++i) copies.push_back({arguments[i].data(), grids[i]});
      kernel->launch(copies, options);
    });
  }
  std::string listing() const override { return kernel_->listing(); }

 private:
  QueuedDevice& device_;
  std::shared_ptr<runtime::Kernel> kernel_;
  std::vector<tile::Parameter> parameters_;
};

class QueuedDevice::QueuedCall final : public runtime::Call {
 public:
  QueuedCall(QueuedDevice& device, std::unique_ptr<runtime::Call> call) : device_(device), call_(std::move(call)) {}
  std::size_t scratch_bytes() const override { return call_->scratch_bytes(); }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    device_.counters.calls++;
    device_.submit([call = call_, copy = std::vector<void*>(buffers.begin(), buffers.end()), options] { call->run(copy, options); });
  }
  std::string describe() const override { return call_->describe(); }

 private:
  QueuedDevice& device_;
  std::shared_ptr<runtime::Call> call_;
};
class QueuedDevice::QueuedTurn final : public runtime::Call {
 public:
  QueuedTurn(QueuedDevice& device, runtime::HostTurn turn) : device_(device), turn_(std::move(turn)) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    device_.counters.calls++;
    if (turn_.inputs.empty() && turn_.outputs.empty()) {
      device_.submit([work = turn_.queued(options.line), input = buffers.front(), output = buffers.back()] { work(input, output); });
      return;
    }
    device_.submit([turn = turn_, work = turn_.queued(options.line), all = std::vector<void*>(buffers.begin(), buffers.end())] {
      std::vector<std::byte> input(turn.input_bytes), output(turn.output_bytes);
      for (std::size_t i = 0; i < turn.inputs.size(); ++i) std::memcpy(input.data() + turn.place(turn.inputs, i), all[i], turn.inputs[i]);
      work(input.data(), output.data());
      for (std::size_t i = 0; i < turn.outputs.size(); ++i)
        if (void* const to = all[turn.inputs.size() + i]) std::memcpy(to, output.data() + turn.place(turn.outputs, i), turn.outputs[i]);
    });
  }
  std::string describe() const override { return turn_.text; }

 private:
  QueuedDevice& device_;
  runtime::HostTurn turn_;
};

class QueuedDevice::Mark final : public runtime::TimeMark {
 public:
  explicit Mark(QueuedDevice& device) : device_(device) {}
  void set(runtime::Queue& queue) override {
    static_cast<Lane&>(queue).put({[time = time_] { *time = runtime::Timeline::now(); }});
  }
  std::int64_t since(const TimeMark& earlier) const override { return *time_ - *static_cast<const Mark&>(earlier).time_; }

 private:
  QueuedDevice& device_;
  std::shared_ptr<std::int64_t> time_ = std::make_shared<std::int64_t>();
};

QueuedDevice& QueuedDevice::create() {
  static std::mutex mutex;
  static auto& all = *new std::vector<QueuedDevice*>;  // LeakSanitizer finds them here
  const std::scoped_lock lock(mutex);
  return *all.emplace_back(new QueuedDevice);
}

Ref<Buffer> QueuedDevice::allocate(std::size_t bytes, const runtime::Purpose&) {
  counters.allocations++;
  return tegula::make<Memory>(*this, bytes);
}

void QueuedDevice::synchronize() {
  const std::scoped_lock running(running_);
  std::array<std::list<Piece>, 3> all;
  {
    const std::scoped_lock lock(mutex_);
    for (Lane& lane : lanes_) all[static_cast<std::size_t>(lane.use())].swap(lane.pieces);
  }
  const auto ready = [](const std::list<Piece>& lane) { return !lane.empty() && (!lane.front().until || lane.front().until->done); };
  while (std::ranges::any_of(all, ready)) {
    std::list<Piece>& lane = all[draw_() % all.size()];
    if (!ready(lane)) continue;
    const Piece piece = std::move(lane.front());
    lane.pop_front();
    if (piece.work) piece.work();
  }
  if (!std::ranges::all_of(all, &std::list<Piece>::empty)) throw std::logic_error("queues wait for each other");
}

Ref<Buffer> QueuedDevice::allocate_shared(std::size_t bytes) { return allocate_host(bytes); }

std::unique_ptr<runtime::Kernel> QueuedDevice::compile(const tile::Program& program) { return queued(make_kernel(program), program); }

void QueuedDevice::request(std::span<const runtime::PlannedLaunch> launches) {
  const std::scoped_lock lock(mutex_);
  for (const auto& launch : launches) requested_.insert(needs(launch));
}

void QueuedDevice::prepare(std::span<const runtime::PlannedLaunch> launches) {
  const std::scoped_lock lock(mutex_);
  for (const auto& launch : launches) (requested_.contains(needs(launch)) ? counters.foreseen : counters.unforeseen)++;
}

std::vector<runtime::Candidate> QueuedDevice::candidates(const runtime::CallDescription& d) const {
  if (std::holds_alternative<runtime::HostTurn>(d)) return {{d}};
  return cpu_candidates(d);
}

std::unique_ptr<runtime::Call> QueuedDevice::make(const runtime::CallDescription& d) {
  if (const auto* const turn = std::get_if<runtime::HostTurn>(&d)) return std::make_unique<QueuedTurn>(*this, *turn);
  return wrap(runtime::cpu().make(d));
}

std::unique_ptr<runtime::TimeMark> QueuedDevice::time_mark() { return std::make_unique<Mark>(*this); }

QueuedDevice::QueuedDevice()
    : Device({.name = "queued",
              .number = next_number(),
              .traits = {.queues = true, .numbers_in_memory = true, .launches_are_dear = true, .many_instances = true},
              .tiles = {.elements = 512, .longest_row = 4096, .instances = 64, .longest_sort = 16},
              .costs = gpu::costs()}) {
  make_kernel = [](const tile::Program& program) { return runtime::cpu().compile(program); };
}

std::unique_ptr<runtime::Kernel> QueuedDevice::queued(std::unique_ptr<runtime::Kernel> kernel, const tile::Program& program) {
  return std::make_unique<QueuedKernel>(*this, std::move(kernel), program.parameters);
}

std::unique_ptr<runtime::Call> QueuedDevice::wrap(std::unique_ptr<runtime::Call> call) {
  return std::make_unique<QueuedCall>(*this, std::move(call));
}

bool QueuedDevice::ahead_of_replays_here(Work first) {
  const std::scoped_lock lock(mutex_);
  if (!records_here()) return false;
  first_->push_back(std::move(first));
  return true;
}

const runtime::Kernel& QueuedDevice::underneath(const runtime::Kernel& kernel) {
  return static_cast<const QueuedKernel&>(kernel).underneath();
}

QueuedDevice::Needs QueuedDevice::needs(const runtime::PlannedLaunch& launch) {
  const auto& parameters = static_cast<const QueuedKernel&>(*launch.kernel).parameters();
  std::vector<std::int64_t> facts;
  for (const auto& set : launch.sets) {
    facts.insert(facts.end(), set.grid.begin(), set.grid.end());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const runtime::Argument& argument = set.arguments[i];
      facts.push_back(parameters[i].pointer ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(argument.pointer) % 64)
                                            : argument.integer);
    }
  }
  return {launch.kernel, launch.guarded, std::move(facts)};
}

void QueuedDevice::Lane::launch(const runtime::Kernel& kernel, std::span<const runtime::ArgumentSet> sets,
                                const runtime::LaunchOptions& options) {
  const Fed fed(*this);
  kernel.launch(sets, options);
}

void QueuedDevice::Lane::run(const runtime::Call& call, std::span<void* const> buffers, const runtime::RunOptions& options) {
  const Fed fed(*this);
  if (use() == runtime::Use::Exchange) device_.counters.beside++;
  call.run(buffers, options);
}

void QueuedDevice::Lane::copy_in(void* device, const void* host, std::size_t bytes) {
  device_.counters.uploads++;
  std::vector<std::byte> staged(static_cast<const std::byte*>(host), static_cast<const std::byte*>(host) + bytes);
  put({[device, staged = std::move(staged)] {
    if (!staged.empty()) std::memcpy(device, staged.data(), staged.size());
  }});
}

void QueuedDevice::Lane::copy_out(void* host, const void* device, std::size_t bytes) {
  synchronize();
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void QueuedDevice::Lane::copy(void* to, const void* from, std::size_t bytes) {
  device_.counters.copies++;
  put({[=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }});
}

runtime::Event QueuedDevice::Lane::mark() {
  if (device_.records_here()) return {};
  auto point = std::make_shared<Point>(device_);
  put({[point] { point->done = true; }});
  return runtime::Event(std::move(point));
}

void QueuedDevice::Lane::wait(const runtime::Event& event) {
  if (!event.point()) return;
  if (device_.records_here()) throw std::logic_error("a recording waits for what is outside of it");
  auto point = std::dynamic_pointer_cast<const Point>(event.point());
  if (!point || &point->device != &device_) return event.wait();
  put({{}, std::move(point)});
}

void QueuedDevice::Lane::synchronize() { device_.synchronize(); }

std::unique_ptr<runtime::Recording> QueuedDevice::Lane::record(const Work& work) {
  device_.counters.recordings++;
  std::list<Work> recorded;
  std::vector<Work> first;
  device_.begin_recording(recorded, first);
  work();
  device_.end_recording();
  return std::make_unique<Replays>(*this, std::move(recorded), std::move(first));
}

std::unique_ptr<runtime::Recording> QueuedDevice::Lane::record(std::span<const runtime::RecordedStep> steps) {
  return record([steps] {
    std::vector<bool> done(steps.size());
    for (std::size_t left = steps.size(); left > 0; --left) {
      for (std::size_t s = steps.size(); s-- > 0;) {
        const auto& after = steps[s].after;
        if (done[s] || !std::all_of(after.begin(), after.end(), [&](int a) { return done[static_cast<std::size_t>(a)]; })) continue;
        steps[s].work();
        done[s] = true;
        break;
      }
    }
  });
}

void QueuedDevice::Lane::put(Piece piece) {
  const std::scoped_lock lock(device_.mutex_);
  if (device_.records_here()) device_.recording_->push_back(std::move(piece.work));
  else pieces.push_back(std::move(piece));
}

QueuedDevice::Lane& QueuedDevice::Lane::current(QueuedDevice& device) {
  for (const Fed* fed = innermost(); fed; fed = fed->outer)
    if (&fed->lane.device_ == &device) return fed->lane;
  return device.lanes_[runtime::Use::Compute];
}

void QueuedDevice::submit(Work work) { Lane::current(*this).put({std::move(work)}); }

bool QueuedDevice::records_here() const {
  const std::scoped_lock lock(mutex_);
  return recording_ && recorder_ == std::this_thread::get_id();
}

void QueuedDevice::begin_recording(std::list<Work>& all, std::vector<Work>& first) {
  const std::scoped_lock lock(mutex_);
  recording_ = &all, recorder_ = std::this_thread::get_id(), first_ = &first;
}

void QueuedDevice::end_recording() {
  const std::scoped_lock lock(mutex_);
  recording_ = nullptr;
}

int QueuedDevice::next_number() {
  static std::atomic<int> number = 77;
  return number++;
}

}  // namespace tegula::test
