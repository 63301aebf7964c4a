#include "tegula/cuda/driver/recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/progress.h"

namespace tegula::gpu {
namespace {

Capture*& innermost() {
  thread_local Capture* capture = nullptr;
  return capture;
}

class GraphRecording final : public runtime::Recording {
 public:
  GraphRecording(Context& context, CUgraphExec graph, std::vector<Ref<Buffer>> kept, std::vector<std::function<void()>> first)
      : context_(context),
        use_(context.use()),
        graph_(graph),
        kept_(std::move(kept)),
        first_(std::move(first)) {}

  /// May be called after the driver has shut down; errors cannot be reported then.
  ~GraphRecording() override {
    const std::scoped_lock lock(context_.order);
    if (cuCtxSetCurrent(context_.context) != CUDA_SUCCESS) return;
    context_.drain();  // it may be running
    cuGraphExecDestroy(graph_);
  }

  void replay() override {
    const std::scoped_lock lock(context_.order);
    const Feeding feeding(context_, use_);
    for (const auto& first : first_) first();
    check(cuGraphLaunch(graph_, context_.stream()), "replaying a recording");
    context_.queued("a recording");
    if (context_.progress && ++replays_ % kMarkedReplays == 0) context_.progress->mark();
  }

 private:
  Context& context_;
  runtime::Use use_;
  CUgraphExec graph_;
  std::vector<Ref<Buffer>> kept_;
  std::vector<std::function<void()>> first_;
  static constexpr unsigned kMarkedReplays =
      8;  // rare enough to cost nothing, and often enough to tell a long queue from one that is stuck
  unsigned replays_ = 0;
};

using Nodes = std::vector<CUgraphNode>;

/// While work is recorded: the nodes that the next node would wait for.
Nodes next_waits_for(const Context& context) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;  // how it would wait for them: let_next_wait_for has it wait for their end
  std::size_t count = 0;
  check(cuStreamGetCaptureInfo_v3(context.stream(), &status, nullptr, nullptr, &nodes, &edges, &count), "recording");
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw Error({.op = "recording", .got = "work that cannot be recorded"});
  return {nodes, nodes + count};
}

void let_next_wait_for(const Context& context, Nodes nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  check(cuStreamUpdateCaptureDependencies_v2(context.stream(), nodes.data(), nullptr, nodes.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        "recording");
}

}  // namespace

Capture* Capture::current(const Context& context) {
  Capture* capture = innermost();
  while (capture && &capture->context_ != &context) capture = capture->outer_;
  return capture;
}

void* Capture::constant(std::span<const std::byte> bytes) {
  Ref<Buffer> buffer = allocate(context_, bytes.size());  // kept: allocate sees the recording
  void* data = buffer->data();
  constants_.push_back({std::move(buffer), {bytes.begin(), bytes.end()}});
  return data;
}

void Capture::waits_itself() {
  const Nodes last = next_waits_for(context_);
  if (last.size() == 1) early_.push_back(last[0]);
}

Capture::Capture(Context& context) : context_(context), stream_(context.stream()), outer_(innermost()) {
  check(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "recording");
  open_ = true;
  innermost() = this;
}

Capture::~Capture() {
  if (CUgraph graph = end()) cuGraphDestroy(graph);
}

CUgraph Capture::end() {
  if (!std::exchange(open_, false)) return nullptr;
  innermost() = outer_;
  CUgraph graph = nullptr;
  const bool captured = cuStreamEndCapture(stream_, &graph) == CUDA_SUCCESS && !refused_;
  if (captured || !graph) return graph;
  cuGraphDestroy(graph);
  return nullptr;
}

void require_no_recording(const Context& context, std::string_view op) {
  Capture* capture = Capture::current(context);
  if (!capture) return;
  capture->refused_ = true;
  throw Error({.op = std::string(op), .got = "a recording in progress", .expected = "no need to wait for the device"});
}

namespace {

CUgraphNodeType type_of(CUgraphNode node) {
  CUgraphNodeType type{};
  check(cuGraphNodeGetType(node, &type), "recording");
  return type;
}
struct Neighbours {
  Nodes nodes;  // in order
  std::vector<CUgraphEdgeData> edges;
};
/// The neighbours of the node, from the driver's `query`.
template <typename Query>
Neighbours neighbours(Query query, CUgraphNode node) {
  std::size_t count = 0;
  check(query(node, static_cast<CUgraphNode*>(nullptr), static_cast<CUgraphEdgeData*>(nullptr), &count), "recording");
  Neighbours found{Nodes(count),
                   std::vector<CUgraphEdgeData>(count)};  // without a place for edges it is refused where one lets a kernel begin early
  if (count > 0) check(query(node, found.nodes.data(), found.edges.data(), &count), "recording");
  std::ranges::sort(found.nodes);
  return found;
}
// Called in place, never by address: a symbol of the driver is looked up when it is first used.
Nodes needs(CUgraphNode node) {
  return neighbours([](auto... to) { return cuGraphNodeGetDependencies(to...); }, node).nodes;
}
/// A library's kernel may begin while the one before it runs, by its own launch.
bool waits_for_ends(CUgraphNode node) {
  const auto edges = neighbours([](auto... to) { return cuGraphNodeGetDependencies(to...); }, node).edges;
  return std::ranges::all_of(edges, [](const CUgraphEdgeData& edge) { return edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT; });
}
Nodes followers(CUgraphNode node) {
  return neighbours([](auto... to) { return cuGraphNodeGetDependentNodes(to...); }, node).nodes;
}

/// Kernels of urgent steps go ahead of others that could run at the same time: the card gives them what becomes free first.
class Urgent {
 public:
  /// The step's nodes waited for `before`, and are over with `end`.
  void note(const Nodes& before, const Nodes& end) {
    std::vector<CUgraphNode> left = end;
    while (!left.empty()) {
      const CUgraphNode node = left.back();
      left.pop_back();
      if (std::ranges::binary_search(before, node) || !nodes_.insert(node).second) continue;
      const Nodes behind = needs(node);
      left.insert(left.end(), behind.begin(), behind.end());
    }
  }

  /// The flags that the graph needs to be made with.
  unsigned long long prefer() const {
    if (nodes_.empty()) return 0;
    int least = 0, greatest = 0;
    check(cuCtxGetStreamPriorityRange(&least, &greatest), "recording");
    CUlaunchAttributeValue value{};
    value.priority = greatest;
    for (const CUgraphNode node : nodes_) {
      if (type_of(node) == CU_GRAPH_NODE_TYPE_KERNEL)
        check(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), "recording");
    }
    return CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  }

 private:
  std::set<CUgraphNode> nodes_;
};

/// A library sets a counter of a few bytes and then runs a kernel that counts with it. Between the kernel and the one before it the card would wait for
/// that twice, some microseconds; where the counter is the step's own it is set beside the steps that it waits for.
class EarlyCounters {
 public:
  /// The step's nodes are recorded: they waited for `before`, and are over with `end`. `earlier`: the nodes that the steps of `before` waited for.
  void note(std::span<const std::byte> own, const Nodes& before, const Nodes& end, const Nodes& earlier) {
    if (own.empty() || before.empty() || end.size() != 1) return;
    CUgraphNode first = end[0];
    for (Nodes needed = needs(first); needed.size() == 1 && needed != before; needed = needs(first)) first = needed[0];
    CUDA_MEMSET_NODE_PARAMS set{};
    if (needs(first) != before || type_of(first) != CU_GRAPH_NODE_TYPE_MEMSET || cuGraphMemsetNodeGetParams(first, &set) != CUDA_SUCCESS)
      return;
    const auto begin = device_pointer(const_cast<std::byte*>(own.data()));
    if (set.height > 1 || set.dst < begin || set.dst + set.width * set.elementSize > begin + own.size()) return;
    Nodes wait = earlier;
    Nodes& last = users_[begin];  // the same step's, in another run
    wait.insert(wait.end(), last.begin(), last.end());
    std::ranges::sort(wait);
    wait.erase(std::unique(wait.begin(), wait.end()), wait.end());
    if (!wait.empty()) moved_.push_back({first, before, wait});
    last = end;
  }

  void move(CUgraph graph) const {
    for (const Moved& one : moved_) {
      const Nodes readers = followers(one.set);
      for (const CUgraphNode from : one.before) {
        check(cuGraphRemoveDependencies(graph, &from, &one.set, nullptr, 1), "recording");
        for (const CUgraphNode reader : readers) check(cuGraphAddDependencies(graph, &from, &reader, nullptr, 1), "recording");
      }
      Nodes wait = one.wait_for;
      std::ranges::sort(wait);
      wait.erase(std::unique(wait.begin(), wait.end()), wait.end());
      for (const CUgraphNode from : wait) check(cuGraphAddDependencies(graph, &from, &one.set, nullptr, 1), "recording");
    }
  }

 private:
  struct Moved {
    CUgraphNode set;
    Nodes before, wait_for;
  };
  std::vector<Moved> moved_;
  std::map<CUdeviceptr, Nodes> users_;
};

/// Kernels that wait by themselves begin while the one kernel that each is behind runs. Beside others they would take room that those need.
void begin_early(CUgraph graph, const std::vector<CUgraphNode>& early) {
  std::vector<std::pair<CUgraphNode, CUgraphNode>> edges;
  for (const CUgraphNode node : early) {
    const Nodes behind = needs(node);
    if (behind.size() == 1 && waits_for_ends(node) && type_of(behind[0]) == CU_GRAPH_NODE_TYPE_KERNEL && followers(behind[0]).size() == 1)
      edges.emplace_back(behind[0], node);
  }
  CUgraphEdgeData programmatic{};
  programmatic.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  programmatic.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  for (const auto& [from, to] : edges) {
    check(cuGraphRemoveDependencies(graph, &from, &to, nullptr, 1), "recording");
    check(cuGraphAddDependencies(graph, &from, &to, &programmatic, 1), "recording");
  }
}

}  // namespace

std::unique_ptr<runtime::Recording> recorded(Context& context, const std::function<void()>& work,
                                             const std::function<unsigned long long(CUgraph)>& finish) {
  if (Capture::current(context)) return nullptr;
  const std::scoped_lock lock(context.order);
  context.enter();
  Capture capture(context);
  try {
    work();
  } catch (...) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const CUresult result = cuStreamIsCapturing(capture.stream(), &status);
    if (capture.refused_ || (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)) return nullptr;
    throw;
  }
  context.enter();  // `work` may have left another device current
  CUgraph graph = capture.end();
  if (!graph) return nullptr;
  unsigned long long flags = 0;
  try {
    flags = finish(graph);
    begin_early(graph, capture.early_);
  } catch (const Error&) {  // a library has allocated memory: the driver refuses to change such a graph
    cuGraphDestroy(graph);
    return nullptr;
  }
  CUgraphExec executable = nullptr;
  const CUresult result = cuGraphInstantiate(&executable, graph, flags);
  cuGraphDestroy(graph);
  if (is_sticky(result)) check(result, "recording");
  if (result != CUDA_SUCCESS) return nullptr;
  auto recording = std::make_unique<GraphRecording>(context, executable, std::move(capture.kept_), std::move(capture.first_));
  context.follow(runtime::Use::Compute);  // memory was allocated in the order of this queue
  for (const Capture::Constant& constant : capture.constants_) {
    context.staging->copy_in(device_pointer(constant.buffer->data()), constant.bytes.data(), constant.bytes.size());
  }
  check(cuGraphUpload(executable, context.stream()), "recording");
  return recording;
}

std::unique_ptr<runtime::Recording> record(Context& context, const std::function<void()>& work) {
  return recorded(context, work, [](CUgraph) { return 0ull; });
}

std::unique_ptr<runtime::Recording> record(Context& context, std::span<const runtime::RecordedStep> steps) {
  EarlyCounters counters;
  Urgent urgent;
  const auto work = [&] {
    std::vector<Nodes> begins(steps.size());  // per step: the nodes it waits for
    std::vector<Nodes> ends(steps.size());  // and the nodes whose end is its end
    Nodes all;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      Nodes& before = begins[s];
      Nodes earlier;  // over before the nodes it waits for
      for (const int step : steps[s].after) {
        const Nodes &begin = begins[static_cast<std::size_t>(step)], &end = ends[static_cast<std::size_t>(step)];
        before.insert(before.end(), end.begin(), end.end());
        earlier.insert(earlier.end(), begin.begin(), begin.end());
      }
      // A graph that begins with several nodes takes microseconds to begin.
      if (before.empty() && s > 0) before = ends[0];
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
      let_next_wait_for(context, before);
      steps[s].work();
      ends[s] = next_waits_for(context);
      counters.note(steps[s].own, before, ends[s], earlier);
      if (steps[s].urgent) urgent.note(before, ends[s]);
      all.insert(all.end(), ends[s].begin(), ends[s].end());
    }
    let_next_wait_for(context, std::move(all));
  };
  return recorded(context, work, [&](CUgraph graph) {
    counters.move(graph);
    return urgent.prefer();
  });
}

}  // namespace tegula::gpu
