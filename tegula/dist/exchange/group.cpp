#include "tegula/dist/exchange/group.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <typeinfo>

#include "tegula/core/error.h"
#include "tegula/dist/exchange/group_state.h"
#include "tegula/dist/transport/environment.h"
#include "tegula/dist/transport/mpi.h"
#include "tegula/dist/transport/rendezvous.h"
#include "tegula/dist/transport/transport.h"

namespace tegula::dist {
namespace {

thread_local const Group* scope = nullptr;

Group group_of(const std::shared_ptr<World>& world, const std::vector<int>& ranks) {
  static std::atomic<std::int64_t> next{1};
  const std::lock_guard lock(world->naming);
  std::unique_ptr<Group::State>& state = world->groups[ranks];
  if (!state) {
    state = std::make_unique<Group::State>();
    state->world = world.get();
    state->ranks = ranks;
    const auto found = std::ranges::find(ranks, world->transport->rank());
    state->rank = found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
    state->id = next++;
  }
  return Group(std::shared_ptr<Group::State>(world, state.get()));  // holds the run
}

std::atomic<Transport*> of_process{nullptr};  // for stop_others; the world is never destroyed before the process ends
std::terminate_handler terminate_before = nullptr;

// An uncaught exception ends this rank: the others are told why.
[[noreturn]] void terminate_and_tell() {
  std::string why = "its program was terminated";
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::exception& error) { why = error.what(); } catch (...) {
    why = "an exception that nobody caught";
  }
  stop_others(why);
  if (terminate_before) terminate_before();
  std::abort();
}

/// Owns the connections of the process: a program that ends says goodbye.
struct Process {
  Group group;
  Process() {
    const std::optional<RankSettings> settings = find_rank();
    if (!settings) return;
    std::shared_ptr<Transport> transport = settings->engine == "mpi" ? mpi_transport(*settings)
                                                                     : meet({.address = settings->rendezvous,
                                                                             .rank = settings->rank,
                                                                             .size = settings->size,
                                                                             .secret = settings->secret,
                                                                             .patience = settings->patience,
                                                                             .timeout = settings->timeout});
    of_process = transport.get();
    terminate_before = std::set_terminate(terminate_and_tell);
    group = group_over(std::move(transport));
  }
  ~Process() {
    if (!group.state()) return;
    if (group.state()->world->engines) group.state()->world->engines->close();
    if (Transport* const transport = of_process.exchange(nullptr)) transport->finish();
  }
};

}  // namespace

int Group::rank() const { return state_ ? state_->rank : 0; }
int Group::size() const { return state_ ? static_cast<int>(state_->ranks.size()) : 1; }
std::vector<int> Group::ranks() const { return state_ ? state_->ranks : std::vector<int>{0}; }
bool Group::contains_me() const { return !state_ || state_->rank >= 0; }
std::int64_t Group::id() const { return state_ ? state_->id : 0; }

std::string Group::text() const {
  std::string text = "{";
  for (const int rank : ranks()) text += (text.size() > 1 ? ", " : "") + std::to_string(rank);
  return text + "}";
}

Group Group::sub(const std::vector<int>& members, Line where) const {
  std::vector<int> sorted(members);
  std::ranges::sort(sorted);
  const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  if (members.empty() || sorted.front() < 0 || sorted.back() >= size() || twice) {
    std::string text;
    for (const int member : members) text += (text.empty() ? "" : ", ") + std::to_string(member);
    throw Error({.op = "Group::sub",
                 .got = "the ranks {" + text + "}",
                 .expected = "some of 0 … " + std::to_string(size() - 1) + ", each once",
                 .where = where});
  }
  if (!state_) return *this;
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(state_->ranks[static_cast<std::size_t>(member)]);
  return group_of(std::shared_ptr<World>(state_, state_->world), ranks);
}

Group group_over(std::shared_ptr<Transport> transport) {
  if (transport->size() == 1) return {};
  std::vector<int> ranks(static_cast<std::size_t>(transport->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return group_of(std::make_shared<World>(std::move(transport)), ranks);
}

Group world() {
  if (scope) return *scope;
  static const Process process;
  return process.group;
}

WorldScope::WorldScope(Group group) : before_(scope), group_(std::move(group)) { scope = &group_; }
WorldScope::~WorldScope() { scope = before_; }

void stop_others(const std::string& sentence) noexcept {
  Transport* const transport = scope && scope->state() ? scope->state()->world->transport.get() : of_process.load();
  if (!transport) return;
  try {
    transport->stop("rank " + std::to_string(transport->rank()) + ": " + sentence);
  } catch (...) {  // no memory for the sentence: they see that this rank has gone
  }
}

Mesh::Mesh(std::vector<std::pair<std::string, int>> axes, Group group, Line where) : axes_(std::move(axes)), group_(std::move(group)) {
  std::int64_t product = 1;
  std::string text;
  for (const auto& [name, size] : axes_) {
    product *= std::max(0, size);
    text += (text.empty() ? "" : ", ") + name + ": " + std::to_string(size);
  }
  if (product != group_.size()) {
    throw Error({.op = "Mesh",
                 .got = "axes {" + text + "} for " + std::to_string(group_.size()) + " ranks",
                 .expected = "sizes that multiply to the number of ranks",
                 .where = where});
  }
}

std::size_t Mesh::find(const std::string& axis, const Line& where) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].first == axis) return i;
  }
  std::string names;
  for (const auto& [name, size] : axes_) names += (names.empty() ? "" : ", ") + name;
  throw Error({.op = "Mesh", .got = "the axis '" + axis + "'", .expected = "one of " + names, .where = where});
}

int Mesh::stride(std::size_t axis) const {
  int stride = 1;
  for (std::size_t i = axis + 1; i < axes_.size(); ++i) stride *= axes_[i].second;
  return stride;
}

int Mesh::place(const std::string& axis, Line where) const {
  const std::size_t i = find(axis, where);
  return group_.rank() / stride(i) % axes_[i].second;
}

Group Mesh::along(const std::string& axis, Line where) const {
  const std::size_t i = find(axis, where);
  const int step = stride(i), first = group_.rank() - place(axis, where) * step;
  std::vector<int> members;
  for (int k = 0; k < axes_[i].second; ++k) members.push_back(first + k * step);
  return group_.sub(members, where);
}

}  // namespace tegula::dist
