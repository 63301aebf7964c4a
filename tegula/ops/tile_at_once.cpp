#include "tegula/ops/tile_at_once.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/tile_kernel_op.h"
#include "tegula/runtime/interpreter.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/printed.h"

namespace tegula::tile::language {
namespace {

using Instance = std::array<std::int64_t, 3>;

std::string instance_text(const Instance& id) {
  return "program (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) + ")";
}

/// A tensor of the launch, and the state of each of its elements.
struct Memory {
  std::string name;  // "input 0"
  HostArray array;
  bool is_result = false, has_values = false;  // has_values: before the first instance runs
  struct Touched {
    std::int64_t by = -1, step = 0;  // the instance, and how often it had released by then
    bool atomically = false;
  };
  std::vector<Touched> stored, read;  // of a result, by element

  std::int64_t begin() const { return reinterpret_cast<std::int64_t>(array.buffer->data()); }
  std::int64_t bytes() const { return array.size() * static_cast<std::int64_t>(size_of(array.dtype)); }
  std::string text() const {
    return name + ", " + std::string(tegula::name(array.dtype)) + to_string(array.shape) + " with " + std::to_string(array.size()) +
           " elements";
  }
};

constexpr std::int64_t kNobody = -1;

/// The steps that are known to come before, by instance. An atomic word that releases leaves what its instance knows at its element, and ends a step
/// of it; one that acquires learns what lies there (vector clocks: Mattern, 1989).
using Known = std::unordered_map<std::int64_t, std::int64_t>;

void learn(Known& known, const Known& other) {
  for (const auto& [instance, steps] : other) {
    std::int64_t& have = known.try_emplace(instance, 0).first->second;
    have = std::max(have, steps);
  }
}

/// Looks at each access of the instance that runs.
class Watch final : public MemoryWatch {
 public:
  Watch(const std::string& name, std::vector<Memory>& memories) : name_(name), memories_(memories) {}

  void begin(std::int64_t number, const Instance& id) { number_ = number, id_ = id, step_ = 0, known_.clear(); }
  Instance instance(std::int64_t number) const { return instances_[static_cast<std::size_t>(number)]; }
  void set_instances(std::vector<Instance> instances) { instances_ = std::move(instances); }

  void touch(const Instruction& self, DType stored, std::int64_t address, std::int64_t element) override {
    const auto size = static_cast<std::int64_t>(size_of(stored));
    Memory* near = nullptr;
    std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
    for (Memory& memory : memories_) {
      const std::int64_t last = memory.begin() + memory.bytes() - size;
      const std::int64_t off = address < memory.begin() ? memory.begin() - address : std::max<std::int64_t>(address - last, 0);
      if (off < nearest) near = &memory, nearest = off;
    }
    const bool load = self.word == Word::Load;
    const std::int64_t place = near ? (address - near->begin()) / size : 0;
    const auto refuse = [&](const std::string& what, const std::string& expected, const std::string& advice) {
      throw Error({.op = name_,
                   .got = (load                       ? "a load of element "
                           : self.word == Word::Store ? "a store to element "
                                                      : "an atomic word on element ") +
                          std::to_string(place) + " of " + (near ? near->text() : "nothing") + what + ", by " + instance_text(id_) +
                          ", element " + std::to_string(element) + " of its tile",
                   .expected = expected,
                   .advice = advice,
                   .where = self.where});
    };
    if (!near || nearest > 0) refuse("", "places inside of the tensor", "mask what lies outside");
    if (!near->is_result) {
      if (!load) refuse("", "stores to results alone: Out and InOut", "");
      return;
    }
    Memory::Touched& writer = near->stored[static_cast<std::size_t>(place)];
    Memory::Touched& reader = near->read[static_cast<std::size_t>(place)];
    const auto other = [&](const Memory::Touched& who) { return who.atomically ? "an atomic word" : instance_text(instance(who.by)); };
    const std::string race = "instances that do not touch what another one stores";
    if (self.word == Word::Atomic) order(Atomic::of(self), address);
    if (load) {
      if (writer.by == kNobody && !near->has_values)
        refuse(", which nobody has stored", "values that were stored before, or out(shape, fill)", "");
      if (!is_before(writer)) refuse(", which " + other(writer) + " stores", race, "they run in any order");
      reader = {number_, step_};
      return;
    }
    const bool atomic = self.word != Word::Store;
    if (!is_before(reader)) refuse(", which " + other(reader) + " reads", race, "they run in any order");
    if (!is_before(writer) && !(atomic && writer.atomically)) {
      refuse(", which " + other(writer) + " stores, too", race,
             atomic ? "atomics alone may meet" : "they run in any order: mask it, or use atomic_add");
    }
    writer = {number_, step_, atomic};
  }

 private:
  /// Returns true if the access was nobody's, this instance's own, or one that an atomic word has ordered before. Results of its own atomic words may change
  /// meanwhile.
  bool is_before(const Memory::Touched& touched) const {
    if (touched.by == kNobody || (touched.by == number_ && !touched.atomically)) return true;
    const auto found = known_.find(touched.by);
    return found != known_.end() && touched.step < found->second;
  }
  void order(const Atomic& atomic, std::int64_t address) {
    if (atomic.acquires()) learn(known_, released_[address]);
    if (!atomic.releases()) return;
    known_[number_] = ++step_;
    learn(released_[address], known_);
  }

  const std::string& name_;
  std::vector<Memory>& memories_;
  std::vector<Instance> instances_;
  std::int64_t number_ = 0, step_ = 0;
  Instance id_{};
  Known known_;  // to this instance
  std::unordered_map<std::int64_t, Known> released_;  // by address
};

/// Executes the words of one instance.
class InstanceMachine final : public Machine {
 public:
  InstanceMachine(const Builder& builder, const runtime::ArgumentSet& set, const Instance& id, Watch& watch, const std::string& name)
      : builder_(builder),
        interpreter_(builder.program(), set, id, &failure_, &watch),
        id_(id),
        name_(name) {}

  void catch_up() override {
    for (const Id id : fresh_)
      if (!held_.contains(id)) interpreter_.forget(id);
    fresh_ = interpreter_.catch_up();
    if (failure_.id < 0) return;
    const auto& sentence = builder_.sentences()[static_cast<std::size_t>(failure_.id - Builder::kFirstSentence)];
    throw Error({.op = name_,
                 .got = "the value " + std::to_string(failure_.value) + " in " + instance_text(id_),
                 .expected = sentence.text,
                 .where = sentence.where});
  }
  std::int64_t integer(Value scalar) override {
    catch_up();
    return interpreter_.look(scalar.id())[0].integer;
  }
  const View* hold(const Content& content) override {
    Held& held = held_[content.value.id()];
    if (++held.count > 1) return held.view.get();
    const Type type = content.value.type();
    const auto& elements = interpreter_.look(content.value.id());
    held.view = std::make_unique<View>(View{type.pointer ? "ptr" : tegula::name(content.dtype).data(),
                                            type.shape.rank(),
                                            {},
                                            elements.data(),
                                            !type.pointer && is_float(content.dtype)});
    std::copy(type.shape.begin(), type.shape.end(), held.view->sizes);
    return held.view.get();
  }
  void release(Value value) override {
    const auto held = held_.find(value.id());
    if (held == held_.end() || --held->second.count > 0) return;
    held_.erase(held);
    interpreter_.forget(value.id());
  }

  void print(const std::string& label, const Content& content, const Line& where) override {
    catch_up();
    Type type = content.value.type();
    type.dtype = content.dtype;
    std::vector<Text::Element> first;
    for (const Scalar& element : interpreter_.look(content.value.id()))
      if (static_cast<std::int64_t>(first.size()) < kMostPrinted) first.push_back({element.real, element.integer});
    show_printed({.label = label, .kernel = name_, .type = type, .where = where}, id_, first);
  }

 private:
  struct Held {
    int count = 0;
    std::unique_ptr<View> view;
  };
  const Builder& builder_;
  runtime::Failure failure_;
  Interpreter interpreter_;
  Instance id_;
  const std::string& name_;
  std::unordered_map<Id, Held> held_;
  std::vector<Id> fresh_;
};

void fill(const HostArray& array, const tegula::Number& number) {
  visit(array.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const elements = static_cast<T*>(array.buffer->data());
    std::fill_n(elements, array.size(), number.as<T>());
  });
}

std::vector<Memory> memories_of(const std::vector<Tensor>& inputs, const TileLaunch& launch, const Line& where) {
  std::vector<Memory> memories;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    memories.push_back({.name = "input " + std::to_string(i), .array = inputs[i].to_array(where)});
  for (std::size_t k = 0; k < launch.outputs.size(); ++k) {
    const TileOutput& output = launch.outputs[k];
    Memory memory{.name = "result " + std::to_string(k), .array = HostArray::empty(output.dtype, output.shape), .is_result = true};
    memory.has_values = output.fill || output.begins_as >= 0;
    if (output.fill) fill(memory.array, *output.fill);
    if (output.begins_as >= 0) {
      const HostArray& from = memories[static_cast<std::size_t>(output.begins_as)].array;
      if (from.size() > 0) std::memcpy(memory.array.buffer->data(), from.buffer->data(), static_cast<std::size_t>(memory.bytes()));
    }
    memory.stored.assign(static_cast<std::size_t>(memory.array.size()), {});
    memory.read = memory.stored;
    memories.push_back(std::move(memory));
  }
  return memories;
}

std::vector<Instance> instances_of(const std::array<std::int64_t, 3>& grid) {
  std::vector<Instance> instances;
  for (std::int64_t z = 0; z < grid[2]; ++z)
    for (std::int64_t y = 0; y < grid[1]; ++y)
      for (std::int64_t x = 0; x < grid[0]; ++x) instances.push_back({x, y, z});
  return instances;
}

void shuffle(std::vector<std::size_t>& order, std::uint64_t seed) {  // Fisher and Yates
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[philox_word(seed, i) % i]);
}

}  // namespace

bool runs_at_once() { return checking(Check::Tile) && !tegula::Trace::current(); }

std::vector<Tensor> run_at_once(const std::string& name, Runner run, const std::vector<Tensor>& inputs, const TileLaunch& given,
                                const CheckOptions& options, const Line& where) {
  const TileLaunch launch = with_reals_as_numbers(given);
  std::vector<Memory> memories = memories_of(inputs, launch, where);
  std::vector<runtime::Argument> arguments;
  for (const Memory& memory : memories) arguments.push_back({.pointer = memory.array.buffer->data()});
  for (std::size_t n = 0; n < launch.numbers.size(); ++n) {
    const bool real = n + launch.reals.size() >= launch.numbers.size();
    arguments.push_back(real ? runtime::Argument{.real = std::bit_cast<double>(launch.numbers[n])}
                             : runtime::Argument{.integer = launch.numbers[n]});
  }
  for (const int input : launch.strided) {
    const Shape& shape = memories[static_cast<std::size_t>(input)].array.shape;
    const Strides strides = Layout::dense(shape).strides;
    for (int axis = 0; axis < shape.rank(); ++axis) arguments.push_back({.integer = strides[axis]});
  }
  runtime::ArgumentSet set{arguments.data(), {1, 1, 1}};
  std::copy(launch.grid.begin(), launch.grid.end(), set.grid.begin());
  const std::vector<Instance> instances = instances_of(set.grid);
  std::vector<std::size_t> order(instances.size());
  std::iota(order.begin(), order.end(), 0);
  if (options.shuffle) shuffle(order, *options.shuffle);

  std::vector<Result> operands;
  for (const Tensor& input : inputs) operands.push_back({input.shape(where), input.dtype()});
  Watch watch(name, memories);
  watch.set_instances(instances);
  for (const std::size_t number : order) {
    watch.begin(static_cast<std::int64_t>(number), instances[number]);
    Builder builder(name);
    builder.set_location(where);
    builder.locate_each_access();
    const TileParameters parameters(builder, operands, launch);
    InstanceMachine machine(builder, set, instances[number], watch, name);
    run(builder, {parameters.inputs, parameters.outputs, parameters.numbers, parameters.reals, launch.constants, parameters.strides},
        &machine);
  }

  std::vector<Tensor> results;
  for (const Memory& memory : memories) {
    if (!memory.is_result) continue;
    const auto missing = std::ranges::find(memory.stored, kNobody, &Memory::Touched::by);
    if (!memory.has_values && missing != memory.stored.end()) {
      throw Error(
          {.op = name,
           .got = "element " + std::to_string(missing - memory.stored.begin()) + " of " + memory.text() + ", which no instance stores",
           .expected = "a store to each element, or out(shape, fill)",
           .where = where});
    }
    results.push_back(from_array(memory.array, where));
  }
  return results;
}

}  // namespace tegula::tile::language
