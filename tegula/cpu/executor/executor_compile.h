#pragma once
// Compiles tile programs to steps. One pass over the program in order; each value gets a Form, and steps are emitted for values that must be computed.

#include <initializer_list>
#include <optional>
#include <tuple>

#include "tegula/cpu/executor/executor_code.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {

/// An operand of a word on tiles.
struct Source {
  int slot = 0;  // holds the address of the first element
  int tile = -1;  // -1: a scalar's slot
  Strides strides;  // elements; 0 along broadcast axes
  std::size_t bytes = 4;
};

class Compiler {
 public:
  Compiler(const tile::Program& program, const CompileOptions& options);
  Code run();

 private:
  using Id = tile::Id;
  using Word = tile::Word;
  using Instruction = tile::Instruction;
  using Kind = Form::Kind;

  // The state that a retry of a loop rolls back.
  struct Level {
    std::vector<Item> header, body;
  };
  struct State {
    std::vector<Form> forms;
    std::vector<Form> dense;  // forms that had to be put into memory, by Id; kind None where not
    std::vector<std::pair<int, Id>> dense_log;  // (region, Id)
    std::vector<Tile> tiles;
    std::vector<Slot> slots;
    std::vector<Level> levels;
    std::map<std::uint64_t, int> constants;
    std::map<int, int> addresses;  // slot -> slot that holds its address
    std::map<std::tuple<Run, int, int, int>, Scalar> scalars;
    std::map<Id, std::vector<Form>> results;  // results of loops and branches
    int labels = 0;
  };

  // executor_compile.cpp: the walk.
  void analyse(const tile::Region& region);
  void plan_fusion(Id id);
  void compile(const tile::Region& region);
  void compile(Id id);
  void compile_source(Id id);
  [[noreturn]] void refuse(const Instruction& self) const;

  // executor_emit.cpp: slots, steps and scalars.
  int current_region() const { return static_cast<int>(state_.levels.size()) - 1; }
  int body_level() const { return 2 * current_region() + 1; }
  int new_slot();
  int constant_slot(std::uint64_t bits);
  int slot_of(const Scalar& scalar);
  int address_of(int slot);
  int new_tile(DType dtype, const Shape& shape);
  template <class S>
  Item& emit(int level, Run run, S step, std::vector<int> reads, std::vector<int> writes, std::string text);
  Scalar scalar_step(Run run, const Scalar& a, const Scalar& b = known(0), const Scalar& c = known(0), const char* text = "");
  Scalar scalar_word(Word word, const Scalar& a, const Scalar& b = known(0), DType dtype = DType::i64);
  Scalar add(const Scalar& a, const Scalar& b) { return scalar_word(Word::Add, a, b); }
  Scalar multiply(const Scalar& a, const Scalar& b) { return scalar_word(Word::Mul, a, b); }
  Scalar fresh_scalar(int level);
  void assign(const Scalar& to, const Scalar& from);
  /// A scalar to whose slot an element was written: above that it gets what scalars of the dtype have there.
  Form extended(const Scalar& scalar, DType dtype);
  static Form uniform(const Scalar& scalar);
  static Form dense(const View& view);

  // executor_forms.cpp: affine values and boxes.
  struct Slots;
  bool is_zero(const Scalar& s) const { return s.known && s.value == 0; }
  Form normalised(Form form) const;
  std::optional<Form> as_affine(const Form& form) const;
  std::optional<Form> affine_word(const Instruction& self);
  Form sum(const Form& a, const Form& b, std::int64_t sign);
  Form scaled(const Form& form, const Scalar& factor);
  Form move_pointer(const Instruction& self);
  std::optional<Form> compare_box(const Instruction& self);
  std::optional<Form> boolean_box(const Instruction& self);
  Form reshaped(const Instruction& self);
  std::optional<Form> split_axes(const Form& form, const Shape& from, const Shape& to);
  Form with_axes(const Form& form, const Shape& to, const std::array<int, kMaxAxes>& source_axis, const Shape& from);

  // executor_values.cpp: values in memory.
  View in_memory(Id id);
  View contiguous(Id id);  // of rank 1 or more
  View contiguous(const View& view, const Shape& shape, DType dtype);
  Source source(Id id);
  View materialise(const Form& form, const tile::Type& type);
  void copy(const Source& from, const Shape& shape, DType dtype, int tile);
  View map(int word, DType from, DType to, const Shape& shape, std::vector<Source> sources, const std::vector<DType>& dtypes,
           std::int64_t attribute, const std::string& text);
  std::optional<Form> marks(const Instruction& self);
  Form elementwise(Id id);
  Form uniform_word(const Instruction& self);
  Form across(const Instruction& self);
  Form dot(const Instruction& self);
  Form random(const Instruction& self);
  void check(const Instruction& self);

  // executor_texts.cpp.
  Form gather_along(const Instruction& self);
  Form histogram(const Instruction& self);
  Form pick(const Instruction& self, Run run, PickStep step, const View& in, const View& places);
  Form inline_asm(const Instruction& self);
  void print(const Instruction& self);
  void text_operand(TextStep& step, std::size_t k, Id id, std::vector<int>& reads);
  const tile::Text* keep_text(tile::Text text);

  // executor_memory.cpp.
  Form load(const Instruction& self);
  void store(const Instruction& self);
  Form change(Id id);
  bool mask_bounds(const Instruction& self, std::size_t index, const Shape& shape, Form& box, std::optional<Source>& mask);
  BlockStep block(const Form& pointer, const Form& box, const Shape& shape);
  GatherStep gather(const Form& pointer, const Form& box, const Shape& shape, const std::optional<Source>& mask, std::vector<int>& reads);

  // executor_limits.cpp.
  void limit_rows();

  // executor_control.cpp.
  void compile_loop(Id id);
  void compile_if(Id id);
  enum class Carry { Auto, FreeStrides, InMemory };  // how a tile goes from one pass of a loop to the next
  Form carried_form(const Form& initial, const tile::Type& type, Carry how);
  Carry fits(const Form& carried, const Form& next, Carry how) const;
  void pass_on(const std::vector<Form>& into, const std::vector<Id>& from);
  void append(Level level);
  void append(Item item) { state_.levels.back().body.push_back(std::move(item)); }
  void open_region() { state_.levels.emplace_back(); }
  Level close_region();

  const Form& form(Id id) const { return state_.forms[static_cast<std::size_t>(id)]; }
  const tile::Type& type(Id id) const { return program_[id].type; }

  const tile::Program& program_;
  CompileOptions options_;
  State state_;
  Code code_;
  std::vector<std::vector<Id>> users_;  // by Id
  std::vector<const tile::Region*> home_;  // the region an instruction stands in
  std::vector<Id> fused_;  // by Id: the operand that is computed inside this word, or -1
};

/// Steps are stored in words.
template <class S>
Item& Compiler::emit(int level, Run run, S step, std::vector<int> reads, std::vector<int> writes, std::string text) {
  step.run = run;
  Item item;
  item.bytes.resize(sizeof(S));
  std::memcpy(item.bytes.data(), &step, sizeof(S));
  item.reads = std::move(reads);
  item.writes = std::move(writes);
  item.text = std::move(text);
  Level& to = state_.levels[static_cast<std::size_t>(level / 2)];
  auto& list = level % 2 == 0 ? to.header : to.body;
  list.push_back(std::move(item));
  return list.back();
}

}  // namespace tegula::host
