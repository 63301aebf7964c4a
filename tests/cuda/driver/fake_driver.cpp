// A libcuda.so.1 for machines without a GPU: device memory is host memory with a limit, work runs when it is queued, a graph is a list of
// the captured work. No kernel is launched. TEGULA_FAKE_DRIVER chooses the kind of machine:
//   old (a driver of CUDA 11.4), none (no device), sm_70 (a device that is too old), sm_90 (one that can be used, with little memory),
//   two (two of the latter, whose work runs when a thread waits for it: as late as it may),
//   paper (with much memory that is never touched; kernels do nothing when they are launched, and are listed on stderr: the launches
//   of a program, without a GPU. Results are those of untouched memory.)

#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/driver/cubin_figures.h"
#include "tests/cuda/driver/pretended_card.h"

namespace {

struct Graph;
struct Node {
  struct Edge {
    Node* from;
    unsigned char type;  // CUgraphDependencyType
  };
  Graph* graph;
  CUgraphNodeType type;
  std::vector<Edge> needs;
};
/// Work in the order in which it was captured, whatever it waits for.
struct Graph {
  std::vector<std::function<void()>> work;
  std::deque<Node> nodes;
  std::vector<Node*> next_needs;
};

/// Work in order.
struct Stream {
  std::deque<std::function<void()>> work;
  std::uint64_t queued = 0, done = 0;
};
/// A position in a stream. The time is when the work before it was done; shared with timers, as an event may be destroyed before them.
struct Event {
  Stream* stream = nullptr;
  std::uint64_t place = 0;
  std::shared_ptr<std::optional<std::int64_t>> time;  // nanoseconds; null for events that tell none
};

struct Machine {
  std::recursive_mutex mutex;
  std::size_t peer_copies = 0;
  std::set<std::pair<CUcontext, CUcontext>> seen;  // (who, whose memory he may read)
  std::vector<Stream*> streams;
  std::map<CUdeviceptr, std::size_t> allocations;
  std::size_t in_use = 0;
  std::map<std::string, CubinFigures> figures;  // of the loaded kernels
  Graph* capture = nullptr;
  std::array<std::size_t, 2> last_edges{};  // plain and programmatic ones
  bool invalid = false;
  bool launches_early = false;
  CUresult lost = CUDA_SUCCESS;  // the error that every call gives from now on
};

Machine& machine() {
  static auto* instance = new Machine;
  return *instance;
}

bool on_paper() {
  static const bool value = kind() == "paper";
  return value;
}

bool is_late() { return kind() == "two"; }

std::size_t memory_size() { return std::size_t{64} << (on_paper() ? 30 : 20); }

Stream& stream_of(CUstream stream) { return *reinterpret_cast<Stream*>(stream); }
Event& event_of(CUevent event) { return *reinterpret_cast<Event*>(event); }

/// Does the stream's work as far as to a place. The machine is locked.
void work_off(Stream& stream, std::uint64_t place) {
  while (stream.done < place) {
    const auto work = std::move(stream.work.front());
    stream.work.pop_front();
    work();
    ++stream.done;
  }
}

CUresult queue(CUstream stream, std::function<void()> work, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_MEMCPY) {
  Machine& m = machine();
  const std::scoped_lock lock(m.mutex);
  if (m.lost != CUDA_SUCCESS) return m.lost;
  if (m.capture) {
    Graph& graph = *m.capture;
    graph.work.push_back(std::move(work));
    Node& node = graph.nodes.emplace_back(Node{&graph, type, {}});
    for (Node* const from : graph.next_needs) {
      const bool early = m.launches_early && type == CU_GRAPH_NODE_TYPE_KERNEL && from->type == CU_GRAPH_NODE_TYPE_KERNEL;
      node.needs.push_back(
          {from, static_cast<unsigned char>(early ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC : CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)});
    }
    graph.next_needs = {&node};
  } else {
    Stream& own = stream_of(stream);
    own.work.push_back(std::move(work));
    ++own.queued;
    if (!is_late()) work_off(own, own.queued);
  }
  return CUDA_SUCCESS;
}

CUresult copy(CUstream stream, void* to, const void* from, std::size_t bytes) {
  if (on_paper() && bytes > (std::size_t{1} << 20)) return CUDA_SUCCESS;
  return queue(stream, [=] {
    if (from == nullptr) {
      machine().lost = CUDA_ERROR_ILLEGAL_ADDRESS;
      return;
    }
    std::memcpy(to, from, bytes);
  });
}

/// A launch on paper.
CUresult list(CUstream stream, CUfunction function, unsigned grid, unsigned threads, unsigned cluster, unsigned shared) {
  const auto print = [=] {
    std::fprintf(stderr, "%-96s grid %8u  threads %5u  cluster %2u  shared %7u\n", reinterpret_cast<const char*>(function), grid, threads,
                 cluster, shared);
  };
  return queue(stream, print, CU_GRAPH_NODE_TYPE_KERNEL);
}

/// Work that notes the time; nothing for an event that tells none.
std::function<void()> noting(const Event& event) {
  if (!event.time) return [] {};
  return [time = event.time] {
    *time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
}

/// Returns a list the way the driver does: its length first, then its elements.
CUresult give(const std::vector<std::pair<Node*, unsigned char>>& neighbours, CUgraphNode* to, CUgraphEdgeData* edges, std::size_t* count) {
  if (to && !edges && std::ranges::any_of(neighbours, [](const auto& one) { return one.second != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT; }))
    return CUDA_ERROR_LOSSY_QUERY;
  for (std::size_t i = 0; to && i < std::min(*count, neighbours.size()); ++i) {
    to[i] = reinterpret_cast<CUgraphNode>(neighbours[i].first);
    if (edges) edges[i] = {.from_port = 0, .to_port = 0, .type = neighbours[i].second, .reserved = {}};
  }
  *count = neighbours.size();
  return CUDA_SUCCESS;
}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// A wait is not allowed while work is captured.
CUresult wait(Stream* stream, std::uint64_t place) {
  Machine& m = machine();
  const std::scoped_lock lock(m.mutex);
  if (m.lost != CUDA_SUCCESS) return m.lost;
  if (!m.capture) {
    if (stream) work_off(*stream, place);
    return m.lost;
  }
  m.invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned) { return kind() == "none" ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }
CUresult CUDAAPI cuDriverGetVersion(int* version) { return *version = kind() == "old" ? 11040 : CUDA_VERSION, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetCount(int* count) { return *count = is_late() ? 2 : 1, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int index) { return *device = index, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice) {
  return std::strncpy(name, "Paper GPU", static_cast<std::size_t>(size)), CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 0x5a + device, sizeof *uuid);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice) { return *bytes = memory_size(), CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) { return *value = attribute(which), CUDA_SUCCESS; }
CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorString(CUresult, const char** text) { return *text = "an error of the paper GPU", CUDA_SUCCESS; }

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  static char contexts[2];
  return *context = reinterpret_cast<CUcontext>(&contexts[device]), CUDA_SUCCESS;
}
thread_local CUcontext current_context = nullptr;
CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) { return *context = current_context, CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) { return current_context = context, CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned) {
  const std::scoped_lock lock(machine().mutex);
  machine().streams.push_back(new Stream);
  *stream = reinterpret_cast<CUstream>(machine().streams.back());
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamSynchronize(CUstream stream) { return wait(&stream_of(stream), stream_of(stream).queued); }
CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
  auto* const made = new Event;
  if (!(flags & CU_EVENT_DISABLE_TIMING)) made->time = std::make_shared<std::optional<std::int64_t>>();
  return *event = reinterpret_cast<CUevent>(made), CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  const std::scoped_lock lock(machine().mutex);
  Event& e = event_of(event);
  if (!machine().capture) queue(stream, noting(e));
  e.stream = &stream_of(stream), e.place = stream_of(stream).queued;
  return machine().lost;
}
/// One that is external is a piece of work of the graph, whose place in a stream is that of the graph.
CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  if (flags == CU_EVENT_RECORD_DEFAULT) return cuEventRecord(event, stream);
  const std::scoped_lock lock(machine().mutex);
  return machine().capture ? queue(stream, noting(event_of(event))) : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuEventQuery(CUevent event) {
  const std::scoped_lock lock(machine().mutex);
  const Event& e = event_of(event);
  return machine().lost != CUDA_SUCCESS ? machine().lost : e.stream && e.stream->done < e.place ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventSynchronize(CUevent event) { return wait(event_of(event).stream, event_of(event).place); }
CUresult CUDAAPI cuEventDestroy(CUevent event) { return delete &event_of(event), CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return queue(stream, [e = event_of(event)] {
    if (e.stream) work_off(*e.stream, e.place);
  });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 1, CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  const std::scoped_lock lock(machine().mutex);
  return machine().seen.emplace(current_context, peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                                   CUstream stream) {
  const std::scoped_lock lock(machine().mutex);
  if (machine().seen.count({to_context, from_context}) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;  // a forgotten call is an error
  ++machine().peer_copies;
  return copy(stream, host(to), host(from), bytes);
}
/// For tests.
std::size_t fake_peer_copies() {
  const std::scoped_lock lock(machine().mutex);
  return machine().peer_copies;
}
/// On paper everything takes as long.
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  const std::scoped_lock lock(machine().mutex);
  const Event &a = event_of(from), &b = event_of(to);
  if (!a.time || !b.time) return CUDA_ERROR_INVALID_HANDLE;
  if (!*a.time || !*b.time) return CUDA_ERROR_NOT_READY;
  *milliseconds = on_paper() ? 1 : static_cast<float>(static_cast<double>(**b.time - **a.time) * 1e-6);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetInfo(std::size_t* available, std::size_t* total) {
  const std::scoped_lock lock(machine().mutex);
  *total = memory_size();
  *available = memory_size() - machine().in_use;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  Machine& m = machine();
  const std::scoped_lock lock(m.mutex);
  if (m.lost != CUDA_SUCCESS) return m.lost;
  if (m.in_use + bytes > memory_size()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (on_paper()) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = reinterpret_cast<CUdeviceptr>(pages);
  } else {
    *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(512, bytes));
    std::memset(host(*address), 0xee, bytes);
  }
  m.in_use += bytes;
  m.allocations[*address] = bytes;
  return CUDA_SUCCESS;
}
/// Waits for all work that may use the memory.
CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  Machine& m = machine();
  const std::scoped_lock lock(m.mutex);
  for (Stream* stream : m.streams) work_off(*stream, stream->queued);
  const auto found = m.allocations.find(address);
  if (found == m.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  m.in_use -= found->second;
  if (on_paper()) munmap(host(address), found->second);
  else std::free(host(address));
  m.allocations.erase(found);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  if (on_paper()) return CUDA_SUCCESS;
  return queue(stream, [=] { std::memset(host(to), value, bytes); });
}
CUresult CUDAAPI cuMemHostAlloc(void** data, std::size_t bytes, unsigned) { return *data = std::aligned_alloc(4096, bytes), CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode, CUlaunchAttributeID, const CUlaunchAttributeValue*) { return CUDA_SUCCESS; }
/// No other process sees this one's memory.
CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* seen, void* data, unsigned) {
  return *seen = reinterpret_cast<CUdeviceptr>(data), CUDA_SUCCESS;
}
CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr*, CUipcMemHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy(stream, host(to), from, bytes);
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(stream, to, host(from), bytes);
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy(stream, host(to), host(from), bytes);
}

/// NVRTC asks for tables of a driver that is loaded; this one is as short as a table can be.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
  static const std::size_t size = sizeof(size);
  return *table = &size, CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  if (!on_paper()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const std::scoped_lock lock(machine().mutex);
  machine().figures.merge(cubin_figures(image));
  return *module = reinterpret_cast<CUmodule>(&machine()), CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  static std::set<std::string> names;  // a function is its name
  const std::scoped_lock lock(machine().mutex);
  *function = reinterpret_cast<CUfunction>(const_cast<char*>(names.insert(name).first->c_str()));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  const std::scoped_lock lock(machine().mutex);
  const CubinFigures& figures = machine().figures[reinterpret_cast<const char*>(function)];
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? figures.registers : which == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? figures.local_bytes : 0;
  return CUDA_SUCCESS;
}
/// The occupancy of an H100 or H200: 64 Ki registers, given to warps in portions of 256; 2048 threads, 32 blocks, 228 KiB of shared memory.
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, std::size_t shared_bytes) {
  int registers = 0;
  cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  const int of_a_warp = std::max(1, (registers * 32 + 255) / 256 * 256), warps = (threads + 31) / 32;
  *blocks = std::min({32, 2048 / threads, 65536 / of_a_warp / warps, static_cast<int>((std::size_t{228} << 10) / (shared_bytes + 1024))});
  return CUDA_SUCCESS;
}
/// Two blocks of a cluster lie on two multiprocessors of 132.
CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* launch) {
  int blocks = 0;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(launch->blockDimX), launch->sharedMemBytes);
  *clusters = blocks * 132 / static_cast<int>(launch->attrs[0].value.clusterDim.x);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* launch, CUfunction function, void**, void**) {
  return list(launch->hStream, function, launch->gridDimX, launch->blockDimX,
              launch->numAttrs > 0 ? launch->attrs[0].value.clusterDim.x : 1, launch->sharedMemBytes);
}
CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                                unsigned shared, CUstream stream, void**, void**) {
  return list(stream, function, grid, threads, 1, shared);
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn work, void* data) {
  return queue(stream, [=] { work(data); });
}
CUresult CUDAAPI cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  const std::scoped_lock lock(machine().mutex);
  machine().capture = new Graph;
  machine().invalid = false;
  return machine().lost;
}
CUresult CUDAAPI cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  const Machine& m = machine();
  *status = !m.capture ? CU_STREAM_CAPTURE_STATUS_NONE : m.invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*, const CUgraphNode** nodes,
                                        const CUgraphEdgeData**, std::size_t* count) {
  const std::scoped_lock lock(machine().mutex);
  if (Graph* const graph = machine().capture) {
    *nodes = reinterpret_cast<const CUgraphNode*>(graph->next_needs.data());
    *count = graph->next_needs.size();
  }
  return cuStreamIsCapturing(stream, status);
}
CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream, CUgraphNode* nodes, const CUgraphEdgeData*, std::size_t count, unsigned) {
  const std::scoped_lock lock(machine().mutex);
  if (Graph* const graph = machine().capture) {
    auto* const needs = reinterpret_cast<Node**>(nodes);
    graph->next_needs.assign(needs, needs + count);
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return *type = reinterpret_cast<Node*>(node)->type, CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* from, CUgraphEdgeData* edges, std::size_t* count) {
  std::vector<std::pair<Node*, unsigned char>> found;
  for (const Node::Edge& edge : reinterpret_cast<Node*>(node)->needs) found.emplace_back(edge.from, edge.type);
  return give(found, from, edges, count);
}
CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* to, CUgraphEdgeData* edges, std::size_t* count) {
  auto* const from = reinterpret_cast<Node*>(node);
  std::vector<std::pair<Node*, unsigned char>> found;
  for (Node& other : from->graph->nodes)
    for (const Node::Edge& edge : other.needs)
      if (edge.from == from) found.emplace_back(&other, edge.type);
  return give(found, to, edges, count);
}
CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                                           std::size_t count) {
  if (data) return CUDA_ERROR_NOT_SUPPORTED;
  for (std::size_t i = 0; i < count; ++i) {
    auto& needs = reinterpret_cast<Node*>(to[i])->needs;
    const auto own = [&](const Node::Edge& edge) {
      return edge.from == reinterpret_cast<Node*>(from[i]) && edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
    };
    if (std::erase_if(needs, own) != 1) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphAddDependencies(CUgraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                                        std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Node &before = *reinterpret_cast<Node*>(from[i]), &after = *reinterpret_cast<Node*>(to[i]);
    const unsigned char type = data ? data[i].type : static_cast<unsigned char>(CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
    if (type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
      const bool kernels = before.type == CU_GRAPH_NODE_TYPE_KERNEL && after.type == CU_GRAPH_NODE_TYPE_KERNEL;
      if (!kernels || data[i].from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC) return CUDA_ERROR_INVALID_VALUE;
    }
    for (const Node::Edge& edge : after.needs)
      if (edge.from == &before) return CUDA_ERROR_INVALID_VALUE;
    after.needs.push_back({&before, type});
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamEndCapture(CUstream, CUgraph* graph) {
  Machine& m = machine();
  const std::scoped_lock lock(m.mutex);
  Graph* captured = m.capture;
  m.capture = nullptr;
  *graph = m.invalid ? nullptr : reinterpret_cast<CUgraph>(captured);
  if (!m.invalid) return CUDA_SUCCESS;
  delete captured;
  return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  const std::scoped_lock lock(machine().mutex);
  const Graph& captured = *reinterpret_cast<Graph*>(graph);
  machine().last_edges = {};
  for (const Node& node : captured.nodes)
    for (const Node::Edge& edge : node.needs) ++machine().last_edges[edge.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ? 1 : 0];
  *executable = reinterpret_cast<CUgraphExec>(new Graph{captured.work, {}, {}});
  return CUDA_SUCCESS;
}
/// For tests: from now on captured kernels may begin while the ones that they are behind run, as a library's do that were launched so.
void fake_launches_early(bool early) { machine().launches_early = early; }
/// For tests: of the graph that was made executable last, all edges, and those that let a kernel begin while the one before it runs.
void fake_graph_edges(std::size_t* all, std::size_t* early) {
  const std::scoped_lock lock(machine().mutex);
  *all = machine().last_edges[0] + machine().last_edges[1], *early = machine().last_edges[1];
}
CUresult CUDAAPI cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  for (const auto& work : reinterpret_cast<Graph*>(executable)->work) queue(stream, work);
  return machine().lost;
}
CUresult CUDAAPI cuGraphDestroy(CUgraph graph) { return delete reinterpret_cast<Graph*>(graph), CUDA_SUCCESS; }
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) { return delete reinterpret_cast<Graph*>(executable), CUDA_SUCCESS; }

}  // extern "C"
