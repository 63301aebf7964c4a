#include "tegula/compile/run/executable.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/compile/run/in_flight.h"
#include "tegula/compile/run/placement.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/compile/show/show.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/setting.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/timeline.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {
constexpr int kRecordedSteps = 512;  // that several runs may have in one recording: what it saves on longer ones is little
}

Executable::Executable(Plan plan, runtime::Device& device, Kept kept, ArenaOf arena_of)
    : plan_(std::move(plan)),
      device_(device),
      kept_(std::move(kept)) {
  if (arena_of == ArenaOf::Device) arena_use_.emplace(device, plan_.arena_bytes, arena_purpose(plan_));
  if (checking(Check::Memory)) {
    poisons_ = true;
    recordable_ = false;  // memory is filled between steps that are queued one by one
    dead_ = dead_after(plan_);
  }
  if (device_.traits().queues) prepare_queue();
  prepare();
  if (!poisons_ && word_set("TEGULA_OVERLAP", {"on", "off"}, "compile").value_or(0) == 0)
    overlap_ = overlap(plan_, device_.traits().queues);
  if (device_.traits().queues) return;
  show_kernels(plan_, launches());
}

void Executable::prepare_queue() {
  if (!plan_.graph.constants.empty()) constants_ = device_.allocate(plan_.graph.constants.size() * 8);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (plan_.steps[s].checks) checks_.push_back(static_cast<int>(s));
  }
  if (checks_.empty()) return;
  const std::size_t bytes = checks_.size() * sizeof(runtime::Failure);
  failures_ = device_.allocate(bytes);
  report_buffer_ = device_.allocate_shared(bytes);
  reports_ = static_cast<runtime::Failure*>(report_buffer_->data());
  forget_failures();
}

void Executable::forget_failures() {
  std::vector<runtime::Failure> none(checks_.size());
  std::copy(none.begin(), none.end(), reports_);
  for (std::size_t c = 0; c < none.size(); ++c) none[c].report = reports_ + c;
  device_.copy_in(failures_->data(), none.data(), none.size() * sizeof none[0]);
}

int Executable::refreshes() const {
  int most = 0;
  for (const Kept::Use& use : kept_.batches) most = std::max(most, use.batch->refreshes());
  return most;
}

std::size_t Executable::kept_in_loops() const {
  std::size_t bytes = 0;
  for (const Step& step : plan_.steps)
    if (step.loop()) bytes += kept_bytes_of(*step.loop());
  return bytes;
}

// Computes the kept values unless all that they are made of is what it was.
void Executable::refresh(const Bindings& bindings) {
  for (const Kept::Use& use : kept_.batches) {
    sources_.clear(), versions_.clear();
    for (const std::size_t leaf : use.leaves) {
      sources_.push_back(bindings.leaves[leaf]);
      versions_.push_back(bindings.versions[leaf]);
    }
    use.batch->refresh(sources_, versions_, bindings.arena);
  }
  leaves_.assign(bindings.leaves.begin(), bindings.leaves.end());
  for (const auto& value : kept_.values) leaves_.push_back(value->data());
}

// Everything that stays is written now; what changes is remembered as patches.
void Executable::prepare() {
  std::size_t count = 0;
  for (const Step& step : plan_.steps) {
    for (const LaunchSet& set : step.sets()) count += set.arguments.size();
  }
  arguments_.resize(count);
  prepared_.resize(plan_.steps.size());
  runtime::Argument* next = arguments_.data();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    Prepared& prepared = prepared_[s];
    for (const LaunchSet& set : step.sets()) {
      prepared.sets.push_back({next, set.grid});
      for (const Reference& reference : set.arguments) {
        switch (reference.kind) {
          case Reference::Kind::Integer: next->integer = reference.integer; break;
          case Reference::Kind::Real: next->real = reference.real; break;
          default: bind(next->pointer, reference);
        }
        ++next;
      }
    }
    const std::span<const Reference> buffers = step.buffers();
    prepared.buffers.resize(buffers.size());
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].kind != Reference::Kind::Nothing) bind(prepared.buffers[b], buffers[b]);
    }
    if (step.is_call() && step.called()->workspace >= 0) bind(prepared.scratch, {Reference::Kind::Scratch, step.called()->workspace, 0, 0});
  }
}

void Executable::bind(void*& place, const Reference& reference) {
  using Kind = Reference::Kind;
  const auto at = index(reference.index);
  if (reference.kind == Kind::Constant && constants_) place = static_cast<std::byte*>(constants_->data()) + 8 * reference.index;
  else if (reference.kind == Kind::Scratch) arena_places_.push_back({&place, plan_.scratch_offsets[at]});
  else if (reference.kind == Kind::Value && plan_.storage[at].kind == Storage::Kind::Arena)
    arena_places_.push_back({&place, plan_.storage[at].offset + static_cast<std::size_t>(reference.integer)});
  else patches_.push_back({&place, reference});
}

std::size_t Executable::arena_bytes() const {
  std::size_t bytes = plan_.arena_bytes;
  for (const Kept::Use& use : kept_.batches) bytes = std::max(bytes, use.batch->plan().arena_bytes());
  return bytes;
}

// True when what lies in the arena has other addresses than at the last run.
bool Executable::move_arena(std::byte* begin) {
  if (begin == arena_) return false;
  arena_ = begin;
  for (const ArenaPlace& at : arena_places_) *at.place = begin + at.offset;
  return true;
}

void* Executable::address(const Reference& reference, const Bindings& bindings) const {
  if (reference.kind == Reference::Kind::Update) return bindings.updates[index(reference.index)];
  const Storage& storage = plan_.storage[index(reference.index)];
  const auto index = static_cast<std::size_t>(storage.index);
  void* base = nullptr;
  switch (storage.kind) {
    case Storage::Kind::Leaf: base = bindings.leaves[index]; break;
    case Storage::Kind::Output: base = bindings.outputs[index]; break;
    case Storage::Kind::Update: base = bindings.updates[index]; break;
    default: return nullptr;  // an empty value that no step computes
  }
  return static_cast<std::byte*>(base) + storage.offset + reference.integer;
}

void Executable::run(const Bindings& given) {
  Bindings bindings = given;
  if (!kept_.batches.empty()) {
    refresh(given);
    bindings.leaves = leaves_;
  }
  const bool changed = given_.size() != bindings.constants.size() ||
                       (!given_.empty() && std::memcmp(given_.data(), bindings.constants.data(), bindings.constants.size_bytes()) != 0);
  if (changed || numbers_.size() != plan_.graph.constants.size()) {
    given_.assign(bindings.constants.begin(), bindings.constants.end());
    derive_constants(plan_.graph, given_, numbers_);
    if (device_.traits().numbers_in_memory) upload_constants();
  }
  for (int left = bindings.times; left > 0;) {
    if (device_.traits().queues) left -= queue(bindings, left);
    else walk(bindings), --left;
  }
}

void Executable::patch(const Bindings& bindings) {
  for (const Patch& patch : patches_) {
    if (patch.reference.kind != Reference::Kind::Constant) *patch.place = address(patch.reference, bindings);
    else std::memcpy(patch.place, &numbers_[index(patch.reference.index)], 8);  // of a double or of an integer
  }
}

// The steps one after another, each finished before the next but for exchanges that are begun.
void Executable::walk(const Bindings& bindings) {
  const ArenaUse::Lease lease = borrow(bindings);
  move_arena(lease.data());
  patch(bindings);
  if (poisons_) poison_all(bindings);
  const runtime::Timeline::Run recorded(runtime::Timeline::current());
  runtime::Timeline* const timeline = recorded.outermost();
  InFlight in_flight(timeline);
  runtime::Queue& queue = device_.queue();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    const Prepared& prepared = prepared_[s];
    if (!overlap_.waits.empty()) in_flight.finish(overlap_.waits[s]);
    if (const runtime::Call* const call = step.call()) {
      runtime::Failure failure;
      const runtime::RunOptions options{
          .scratch = prepared.scratch, .threads = step.threads, .failure = step.checks ? &failure : nullptr, .line = line_of(s, bindings)};
      if (!overlap_.begins.empty() && overlap_.begins[s] && call->begins()) {
        in_flight.add(static_cast<int>(s), [call, ticket = call->begin(prepared.buffers, options)] { call->finish(ticket); });
      } else {
        using Kind = runtime::TimelineEvent::Kind;
        const runtime::TimelineSpan span(timeline, timeline && step.exchanges ? Kind::Wait : Kind::Call, step.name,
                                         timeline ? tegula::to_string(options.line) : "");
        queue.run(*call, prepared.buffers, options);
      }
      if (failure.id >= 0) throw_check(step, failure, bindings);
    } else {
      const runtime::TimelineSpan span(timeline, runtime::TimelineEvent::Kind::Program, step.name,
                                       timeline ? tegula::to_string(line_of(s, bindings)) : "");
      runtime::Failure failure;
      queue.launch(*step.launch()->kernel, prepared.sets,
                   {.threads = step.threads, .streaming = step.streaming, .failure = step.checks ? &failure : nullptr});
      if (step.checks && failure.id >= 0) throw_check(step, failure, bindings);
    }
    if (poisons_) poison_after(s);
  }
  in_flight.finish_all();
}

// The numbers as the kernels read them: each in 8 bytes, in its compute type.
void Executable::upload_constants() {
  std::vector<std::byte> block(numbers_.size() * 8);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    visit(tile::compute_type(plan_.graph.constants[i]), [&](auto zero) {
      using T = decltype(zero);
      T value;
      if constexpr (std::is_integral_v<T>) value = static_cast<T>(numbers_[i]);
      else value = from_double<T>(std::bit_cast<double>(numbers_[i]));
      std::memcpy(block.data() + 8 * i, &value, sizeof value);
    });
  }
  device_.copy_in(constants_->data(), block.data(), block.size());
}

/// The user's line of a step.
Line Executable::line_of(std::size_t s, const Bindings& bindings) const {
  const Step& step = plan_.steps[s];
  const int node = step.writes.empty() ? -1 : plan_.values[index(step.writes[0])].node;
  return node >= 0 && !bindings.nodes.empty() ? bindings.nodes[index(node)]->origin().where : step.origin.where;
}

// Queues one run or, in one recording, several of so many; returns how many. With a timeline it is one run, which is waited for.
int Executable::queue(const Bindings& bindings, int times) {
  confirm();
  const ArenaUse::Lease lease = borrow(bindings);
  const runtime::Timeline::Run recorded(runtime::Timeline::current());
  runtime::Timeline* const timeline = recorded.outermost();
  if (!timeline) step_times_ = nullptr;
  else if (!step_times_) step_times_ = StepTimes::of(device_, plan_);
  const auto timed = [&](const std::function<void()>& work) {
    step_times_->begin();
    work();
    step_times_->end(*timeline, [&](std::size_t s) { return line_of(s, bindings); });
    return 1;
  };
  const bool moved = move_arena(lease.data());
  const auto same = [&] {
    if (moved) return false;
    std::size_t i = 0;
    for (const auto& list : {bindings.leaves, bindings.outputs, bindings.updates}) {
      for (void* address : list) {
        if (i >= bound_.size() || bound_[i] != address) return false;
        ++i;
      }
    }
    return i == bound_.size();
  };
  if (same()) {
    std::unique_ptr<runtime::Recording>& recording = step_times_ ? step_times_->recording : recording_;
    if (!recording && bindings.repeats && recordable_) {
      recording = record(1, step_times_.get());
      recordable_ = static_cast<bool>(recording);
    }
    if (recording) return step_times_ ? timed([&] { recording->replay(); }) : replay(times);
  } else {
    if (step_times_) step_times_->recording = nullptr;
    recording_ = nullptr;
    many_ = nullptr;
    many_times_ = 0;
    bound_.clear();
    for (const auto& list : {bindings.leaves, bindings.outputs, bindings.updates}) bound_.insert(bound_.end(), list.begin(), list.end());
    patch(bindings);
  }
  if (!prepared_launches_) {
    const std::vector<runtime::PlannedLaunch> all = launches();
    device_.prepare(all);
    prepared_launches_ = true;
    show_kernels(plan_, all);
  }
  if (poisons_) poison_all(bindings);
  if (step_times_) return timed([&] { issue(step_times_.get()); });
  issue(nullptr);
  return 1;
}

// The longest series so far is kept as one recording; shorter ones, and what is left of longer ones, are replayed run by run.
int Executable::replay(int times) {
  const int most = std::min(times, kRecordedSteps / static_cast<int>(std::max<std::size_t>(plan_.steps.size(), 1)));
  if (most > many_times_) {
    many_times_ = most;  // also where it cannot be recorded: once is enough
    many_ = most > 1 ? record(most, nullptr) : nullptr;
  }
  const bool many = many_ && times >= many_times_;
  (many ? many_ : recording_)->replay();
  return many ? many_times_ : 1;
}

runtime::LaunchOptions Executable::options_of(std::size_t s) const {
  const Step& step = plan_.steps[s];
  runtime::LaunchOptions options{.threads = step.threads, .streaming = step.streaming};
  if (checks_.empty()) return options;
  auto* failures = static_cast<runtime::Failure*>(failures_->data());
  if (step.checks) options.failure = failures + (std::lower_bound(checks_.begin(), checks_.end(), static_cast<int>(s)) - checks_.begin());
  if (step.guarded) options.guards = {failures, checks_.size()};
  return options;
}

// At the addresses patched in last.
std::vector<runtime::PlannedLaunch> Executable::launches() const {
  std::vector<runtime::PlannedLaunch> all;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (const Launch* const launch = plan_.steps[s].launch())
      all.push_back({launch->kernel.get(), prepared_[s].sets, !options_of(s).guards.empty()});
  }
  return all;
}

// Puts a step into the queue at the addresses patched in last; between its marks, unless `times` is null.
void Executable::issue(std::size_t s, runtime::Queue& queue, const StepTimes* times) {
  const Step& step = plan_.steps[s];
  const Prepared& prepared = prepared_[s];
  const auto work = [&] {
    const runtime::LaunchOptions options = options_of(s);
    if (const Launch* const launch = step.launch()) return queue.launch(*launch->kernel, prepared.sets, options);
    queue.run(*step.call(), prepared.buffers,
              {.scratch = prepared.scratch, .threads = step.threads, .failure = options.failure, .line = step.origin.where});
  };
  times ? times->around(s, queue, work) : work();
}

// Exchanges go on beside the steps behind them; what is queued behind the run waits for all of it.
void Executable::issue(const StepTimes* times) {
  runtime::Queue &compute = device_.queue(runtime::Use::Compute), &exchange = device_.queue(runtime::Use::Exchange);
  InFlight in_flight(nullptr);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (!overlap_.waits.empty()) in_flight.finish(overlap_.waits[s]);
    if (overlap_.begins.empty() || !overlap_.begins[s]) {
      issue(s, compute, times);
    } else {
      const auto begun = [&] { in_flight.add(static_cast<int>(s), [&compute, over = exchange.mark()] { compute.wait(over); }); };
      exchange.wait(compute.mark());
      try {
        issue(s, exchange, times);
      } catch (...) {  // what of it was put in is waited for as well
        begun();
        throw;
      }
      begun();
    }
    if (poisons_) poison_after(s);
  }
  in_flight.finish_all();
}

void Executable::poison(void* memory, std::size_t bytes) {
  if (!device_.traits().queues) {
    std::memset(memory, kPoison, bytes);
    return;
  }
  const std::vector<unsigned char> pattern(bytes, kPoison);
  device_.copy_in(memory, pattern.data(), bytes);
}

// The arena, and what results and Variables get as fresh memory.
void Executable::poison_all(const Bindings& bindings) {
  const auto bytes = [&](int item) { return plan_.values[index(item)].bytes(); };
  poison(arena_, plan_.arena_bytes);
  for (std::size_t o = 0; o < bindings.outputs.size(); ++o) poison(bindings.outputs[o], bytes(plan_.graph.outputs[o]));
  for (std::size_t u = 0; u < bindings.updates.size(); ++u) {
    if (std::ranges::find(bindings.leaves, bindings.updates[u]) == bindings.leaves.end())
      poison(bindings.updates[u], bytes(plan_.graph.updates[u].item));
  }
}

void Executable::poison_after(std::size_t step) {
  for (const auto& [begin, end] : dead_[step]) poison(arena_ + begin, end - begin);
}

std::unique_ptr<runtime::Recording> Executable::record(int times, const StepTimes* marks) {
  runtime::Queue& queue = device_.queue();
  std::vector<runtime::RecordedStep> steps;
  for (PlannedRun& run : recorded_runs(plan_, dependencies(plan_), times)) {
    const Step& step = plan_.steps[index(run.step)];
    std::span<const std::byte> own;
    if (const int workspace = step.is_call() ? step.called()->workspace : -1;
        workspace >= 0 && is_own_scratch(plan_.scratch_bytes[index(workspace)]))
      own = {reinterpret_cast<const std::byte*>(arena_) + plan_.scratch_offsets[index(workspace)], plan_.scratch_bytes[index(workspace)]};
    const auto work = [this, marks, &queue, s = run.step] { issue(static_cast<std::size_t>(s), queue, marks); };
    steps.push_back({work, std::move(run.after), own, run.hurried});
  }
  return queue.record(steps);
}

void Executable::confirm_now(std::span<const Node* const> nodes) {
  device_.synchronize();
  confirm(nodes);
}

void Executable::confirm(std::span<const Node* const> nodes) {
  for (std::size_t c = 0; c < checks_.size(); ++c) {
    if (reports_[c].id < 0) continue;
    device_.synchronize();
    const runtime::Failure failure = reports_[c];
    forget_failures();
    throw_check(plan_.steps[index(checks_[c])], failure, {.nodes = nodes});
  }
}

namespace {

// The name under which the user called it: embedding() is made of gather.
std::string public_name(const Op& op, const Origin& origin) {
  const std::string name(op.check_name());
  if (!origin.path || ("/" + *origin.path + "/").find("/" + name + "/") != std::string::npos) return name;
  return origin.path->substr(0, origin.path->find('/'));
}

}  // namespace

void Executable::throw_check(const Step& step, const runtime::Failure& failure, const Bindings& bindings) const {
  const bool kernel = step.check_item >= 0;  // whose checks are numbered as it likes
  const auto scope = static_cast<std::size_t>(failure.id / tile::Builder::kCheckIds);
  const int number = kernel ? step.check_item : step.check_items[scope];
  const PlannedValue& value = plan_.values[index(number)];
  const bool known = value.node >= 0 && !bindings.nodes.empty();
  const Origin& origin = known ? bindings.nodes[index(value.node)]->origin() : value.origin;
  throw Error({.op = public_name(*value.checks, origin),
               .got = value.checks->check_message(kernel ? failure.id : failure.id % tile::Builder::kCheckIds, failure.value),
               .advice = value.checks->check_advice(),
               .where = origin.where});
}

}  // namespace tegula::compile
