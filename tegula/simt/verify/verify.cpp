#include "tegula/simt/verify/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/registers.h"
#include "tegula/simt/verify/rings.h"
#include "tegula/simt/verify/roles.h"
#include "tegula/simt/verify/sends.h"
#include "tegula/simt/verify/stores.h"
#include "tegula/simt/verify/tiles.h"
#include "tegula/simt/verify/turns.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

constexpr std::size_t kBytesOfThread = 512 << 10;  // of local memory, where what no register takes lies

/// The names that the head of every kernel declares.
const std::set<std::string>& given_names() {
  static const std::set<std::string> names{"threadIdx.x", "blockIdx.x",  "tr",     "tc",    "block",   "failure", "id0",  "id1",
                                           "id2",         "g0",          "g1",     "g2",    "shared",  "ring",    "held", "parts",
                                           "guards",      "guard_count", "owners", "owner", "nullptr", "printed", "tiles"};
  return names;
}

struct Variable {
  Type type;
  Sizes sizes;
  std::int64_t count = 0;  // of a loop's variable: where it ends
  bool shared = false;     // a place in shared memory
};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel) {}

  std::vector<std::string> check() {
    scopes_.emplace_back();
    for (const KernelParameter& parameter : k_.parameters) scopes_.back()[parameter.name.str()] = {.type = {}, .sizes = {}};
    walk(k_.entry);
    walk(k_.begin);
    walk(k_.body);
    walk(k_.end);
    check_rings(k_, faults_);
    check_tiles(k_, faults_);
    check_roles(k_, faults_);
    check_turns(k_, faults_);
    check_stores(k_, faults_);
    check_sends(k_, faults_);
    check_registers(k_, faults_);
    if (register_bytes(k_) > kBytesOfThread) fault("a thread has registers of " + std::to_string(register_bytes(k_)) + " bytes");
    return {faults_.begin(), faults_.end()};
  }

 private:
  void fault(const std::string& text) { faults_.insert(text); }

  // ---- Names and registers.
  const Variable* find(Name called) const {
    const std::string name = called.str();
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    return nullptr;
  }
  void check_name(Name name) {
    if (!find(name) && !given_names().contains(name.str())) fault(name.str() + " is used where it is not declared");
  }
  void check_held(const Expression& e) {
    static const std::vector<const char*> counters[] = {{}, {"r"}, {"c"}, {"r", "c"}, {"c", "k"}, {"r", "c", "k"}};
    const Variable* const array = find(e.name);
    if (!array) return fault(e.name.str() + " is used where it is not declared");
    const auto& indices = counters[static_cast<std::size_t>(e.place)];
    if (indices.size() > array->sizes.size()) return fault(text(e) + " has more indices than " + e.name.str() + " has sizes");
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Variable* const counter = find(indices[i]);
      if (!counter) fault(text(e) + " stands outside of the loop over " + indices[i]);
      else if (counter->count > array->sizes[i])
        fault(text(e) + " is beyond its end where " + indices[i] + " is " + std::to_string(counter->count - 1));
      else if (counter->count > 1 && counter->count < array->sizes[i])  // a loop over one takes the first of a vector
        fault(text(e) + " has another layout than the loop over " + indices[i] + ", which ends at " + std::to_string(counter->count));
    }
  }
  void check_element(const Expression& e) {
    const Variable* const array = find(e.name);
    if (!array) return fault(e.name.str() + " is used where it is not declared");
    const std::size_t most = array->sizes.size() + static_cast<std::size_t>(array->type.pointers);
    if (e.operands.size() > most) fault(text(e) + " has more indices than " + e.name.str() + " has sizes");
    for (std::size_t i = 0; i < std::min(e.operands.size(), array->sizes.size()); ++i) {
      const Expression& index = e.operands[i];
      if (index.kind == Kind::Integer && (index.integer < 0 || index.integer >= array->sizes[i])) fault(text(e) + " is beyond its end");
    }
  }
  void check_expression(const Expression& whole) {
    for_each_part(whole, [&](const Expression& e) {
      if (e.kind == Kind::Name) check_name(e.name);
      if (e.kind == Kind::Held) check_held(e);
      if (e.kind == Kind::Element) check_element(e);
      if (e.kind == Kind::Element && is_shared(e.name)) read(e.name.str());
    });
  }
  bool is_shared(Name name) const {
    const Variable* const variable = find(name);
    return variable && variable->shared;
  }
  bool points_into_shared(const Expression& e) const {
    if (e.kind == Kind::Reinterpret || e.kind == Kind::Binary) return points_into_shared(e.operands[0]);
    return e.kind == Kind::Name && (e.name == "shared" || is_shared(e.name));
  }

  // ---- Shared memory. Staged rows and rings are a thread's own.
  void read(const std::string& name) {
    if (written_) fault(name + " is read in shared memory without a barrier behind what was written there");
    read_ = true;
  }
  void write(const std::string& name) {
    if (read_) fault(name + " is written over in shared memory without a barrier behind what was read there");
    written_ = true;
  }
  void meet() { read_ = written_ = false; }

  // ---- Statements.
  void walk(const Block& block) {
    for (const Statement& statement : block) {
      if (statement.when) check_expression(*statement.when);
      std::visit([&](const auto& what) { (*this)(unboxed(what)); }, statement.what);
    }
  }
  void walk_within(const Block& block, const std::string& counter = {}, std::int64_t count = 0) {
    scopes_.emplace_back();
    if (!counter.empty()) scopes_.back()[counter] = {.type = computed(DType::i32), .sizes = {}, .count = count};
    walk(block);
    scopes_.pop_back();
  }

  void operator()(const Declare& one) {
    if (one.value) check_expression(*one.value);
    const bool shared = one.what.type.pointers > 0 && one.what.type.kind != Type::Kind::Wide && one.value && points_into_shared(*one.value);
    if (scopes_.back().contains(one.what.name.str())) fault(one.what.name.str() + " is declared twice in one block");
    scopes_.back()[one.what.name.str()] = {.type = one.what.type, .sizes = one.what.sizes, .shared = shared};
  }
  void operator()(const Assign& one) {
    check_expression(one.value);
    if (one.target.kind == Kind::Element && is_shared(one.target.name)) {
      for (const Expression& index : one.target.operands) check_expression(index);
      write(one.target.name.str());
    } else {
      check_expression(one.target);
    }
  }
  void operator()(const Loop& loop) { walk_within(loop.body, loop.name.str(), loop.end); }
  void operator()(const For& loop) {
    check_all(loop);
    for (int turn = 0; turn < 2; ++turn) walk_within(loop.body, loop.name.str());  // what an iteration does the next one finds
  }
  void operator()(const Branch& branch) {
    check_expression(branch.when);
    const bool read = read_, written = written_;
    walk_within(branch.then);
    const bool then_read = std::exchange(read_, read), then_written = std::exchange(written_, written);
    walk_within(branch.otherwise);
    read_ = read_ || then_read, written_ = written_ || then_written;
  }
  void operator()(const Scope& scope) { walk_within(scope.body); }
  void operator()(const Barrier& barrier) {
    if (barrier.kind == Barrier::Kind::Block || barrier.kind == Barrier::Kind::Cluster || barrier.kind == Barrier::Kind::Team) meet();
  }
  void operator()(const Combine& combine) {
    check_all(combine);
    if (combine.place != Combine::Place::None) meet();  // its function has barriers around its memory
    if (combine.place == Combine::Place::Parts && combine.offset >= k_.part_bytes) fault("a reduction's memory lies behind the parts");
  }
  void operator()(const Scan& scan) { collective(scan.name.str(), scan.operation.dtype); }
  void operator()(const Sort& sort) { collective(sort.name.str(), DType::i32); }
  /// Reads `tile`, and leaves something in shared memory behind a barrier.
  void collective(const std::string& name, DType dtype) {
    read("tile");
    meet();
    scopes_.back()[name] = {.type = pointer_to(computed(dtype)), .sizes = {}, .shared = true};
  }
  void operator()(const WriteInOrder& write) {
    check_all(write);
    read("places");
    if (write.keeps_old) written_ = true;
  }
  void operator()(const Atomic& atomic) {
    Atomic taken = atomic;
    taken.target = {};
    check_all(taken);
    if (!atomic.target) return;
    if (atomic.target->kind != Kind::Element || !is_shared(atomic.target->name)) return check_expression(*atomic.target);
    for (const Expression& index : atomic.target->operands) check_expression(index);
    write(atomic.target->name.str());
  }
  void operator()(const LoadWide& load) {
    check_all(load);
    check_vector(load.wide, load.count);
  }
  /// Operands of products lie in the scratch, too.
  void write_at(const Expression& pointer) {
    for_each_part(pointer, [&](const Expression& e) {
      if (e.is_name("shared")) write("an operand");
    });
  }
  void operator()(const StoreOne& store) {
    check_all(store);
    write_at(store.pointer);
  }
  void operator()(const ReadMatrices& matrices) {
    check_all(matrices);
    for_each_part(matrices.place, [&](const Expression& e) {
      if (e.kind == Kind::Name && is_shared(e.name)) read("an operand");
    });
  }
  void operator()(const MultiplyTile& product) {
    check_all(product);
    for (const Expression* const place : {&product.left.place, &product.right.place})  // that of registers names nothing
      for_each_part(*place, [&](const Expression& e) {
        if (e.kind == Kind::Name && is_shared(e.name)) read("an operand");
      });
  }
  void operator()(const StoreWide& store) {
    check_all(store);
    write_at(store.pointer);
    check_vector(store.wide, store.count);
  }
  void operator()(const CopyAhead& copy) {
    check_all(copy);
    check_vector(copy.wide, copy.count);
  }
  void check_vector(int wide, int count) {
    if (wide < 1 || count % wide != 0) fault("a vector of " + std::to_string(count) + " elements in accesses of " + std::to_string(wide));
  }
  template <class Box>
  void check_box(const Box& box) {
    check_all(box);
    if (box.map < 0 || static_cast<std::size_t>(box.map) >= k_.maps.size()) return fault("a box of a map that the kernel does not have");
    const TensorMap& map = k_.maps[static_cast<std::size_t>(box.map)];
    if (map.box_columns != box.box_columns || map.all_rows() != box.box_rows || map.pitch != box.pitch || map.inside != box.inside ||
        map.planes.size() != box.planes.size())
      fault("a box has other sizes than its map");
  }
  void operator()(const CopyBox& copy) { check_box(copy); }
  void operator()(const StoreBox& store) { check_box(store); }
  void operator()(const EachOfVector&) { fault("a walk over a vector is left, which compare_in_vector should have replaced"); }
  void operator()(const Touch&) { fault("a mark of memory is left, which place_barriers should have replaced"); }
  void operator()(const MeetCluster&) { fault("a mark of the cluster is left, which place_barriers should have replaced"); }
  void operator()(const UseRing&) { fault("a mark of the ring is left, which place_barriers should have replaced"); }
  void operator()(const OpenRing&) { fault("a mark of the ring is left, which place_barriers should have replaced"); }
  void operator()(const Convert&) { fault("a change of layout is left, which convert_layouts should have replaced"); }
  void operator()(const CopyTile&) { fault("a copy of a tile is left, which fetch_tiles should have replaced"); }
  void operator()(const AwaitTile&) { fault("a mark of a tile is left, which fetch_tiles should have replaced"); }
  void operator()(const FreeTile&) { fault("a mark of a tile is left, which fetch_tiles should have replaced"); }
  void operator()(const Reduced&) { fault("a mark of reductions is left, which keep_packed should have replaced"); }
  void operator()(const UseScratch&) { fault("a need of memory is left, which place_shared should have met"); }
  template <class T>
  void operator()(const T& what) {
    check_all(what);
  }
  template <class T>
  void check_all(const T& what) {
    for_each_expression_of(what, [&](const Expression& e) { check_expression(e); });
  }

  const Kernel& k_;
  std::set<std::string> faults_;
  std::vector<std::map<std::string, Variable>> scopes_;
  bool read_ = false, written_ = false;  // in scratch, since all threads have met
};

std::size_t bytes_of(const Type& type) {
  if (type.pointers > 0) return 8;
  const bool as_stored = type.kind == Type::Kind::Wide || type.kind == Type::Kind::Packed || type.kind == Type::Kind::Stored;
  const std::size_t one = as_stored ? size_of(type.dtype) : std::max<std::size_t>(4, size_of(type.dtype));
  return type.kind == Type::Kind::Placed ? one + 4 : one * static_cast<std::size_t>(type.count);
}

/// Declared in the block, and in the fullest of the blocks within.
std::size_t declared_in(const Block& block) {
  std::size_t own = 0, most = 0;
  for (const Statement& statement : block) {
    if (const auto* declare = statement.as<Declare>()) {
      std::size_t bytes = bytes_of(declare->what.type);
      for (const std::int64_t size : declare->what.sizes) bytes *= static_cast<std::size_t>(size);
      own += bytes;
    }
    for_each_block(statement, [&](const Block& inner) { most = std::max(most, own + declared_in(inner)); });
  }
  return std::max(own, most);
}

}  // namespace

std::vector<std::string> faults(const Kernel& kernel) { return Verifier(kernel).check(); }

void verify(const Kernel& kernel) {
  const std::vector<std::string> found = faults(kernel);
  if (found.empty()) return;
  throw Error({.op = "cuda",
               .got = "a kernel of " + kernel.program + " in which " + found.front(),
               .expected = "one that the verifier of kernels accepts",
               .advice = "this is a defect of the code generator"});
}

std::size_t register_bytes(const Kernel& kernel) { return declared_in(kernel.body); }

}  // namespace tegula::simt
