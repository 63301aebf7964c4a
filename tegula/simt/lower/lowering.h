#pragma once
// Makes a kernel of a tile program. The files lower/*.cpp each hold the part of this class that their name says.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tegula/simt/decide/decisions.h"
#include "tegula/simt/decide/values.h"
#include "tegula/simt/kernel/kernel.h"
#include "tegula/tile/atomic.h"

namespace tegula::gpu {

/// The name of the function that inline assembly becomes.
std::string function_name(const tile::Text& text);

class Lowering : private Values {
 public:
  Lowering(const Analysis& analysis, const Decisions& decisions) : Values(analysis, decisions.grid), decided_(decisions) {}

  /// Fills in what every instance begins with, the statements of the program's body, and the shared memory they use.
  void lower(simt::Kernel& kernel);

 private:
  using Expression = simt::Expression;
  using When = simt::Condition;
  using Name = simt::Name;

  // ---- values.cpp: names, types, elements.
  /// A scalar, a parameter or a number.
  Expression scalar(Id id) const;
  /// The element of a value at the current place of loops over `loops`.
  Expression element(Id id, Spread loops);
  Expression affine_element(const Form& form, Spread loops, const Shape& shape);
  Expression box_element(const Form& form, Spread loops, const Shape& shape);
  Expression condition(const Condition& condition, Spread loops, const Shape& shape);
  /// The vector of halves that the loops are at, of a load that keeps them packed.
  Expression packed_vector(Id load) const;
  bool is_recipe(Id id) const { return decided_.schedule.recipes.contains(id); }
  bool is_packed(Id id) const { return decided_.held_as.contains(id); }
  /// Returns true if the value has registers of its own, of the numbers that are computed with.
  bool has_registers(Id value) const;
  Expression coordinate(int axis, Spread loops, const Shape& shape) const;
  Expression expression_of(const Term& term) const;
  Expression limit_of(const Term& limit) const;
  /// Registers of one thread for a tile of the shape, and the place in them: v[r][c][k].
  simt::Sizes sizes(Spread spread, const Shape& shape) const;
  static simt::Place place(Spread spread);
  /// The place of a vector of a tile that is spread along the columns.
  static simt::Place vector_place(Spread spread) { return spread == Spread::Full ? simt::Place::VectorOfRow : simt::Place::Vector; }
  Name variable(Id id) const {
    id = a_.resolve(id);
    const auto& in_place = decided_.products.in_place;
    if (!in_place.empty())
      if (const auto sum = in_place.find(id); sum != in_place.end()) id = sum->second;
    return {"v", id};
  }
  static Expression held(Name name, Spread own) { return simt::held(name, place(own)); }
  Expression held(Id id, Spread own) const { return held(variable(id), own); }
  /// Returns the condition that the place is inside the tile; nothing when it always is.
  When inside(Spread loops, const Shape& shape) const;
  /// Returns the condition on which this thread, of several that hold the same, should act; nothing when there is only one.
  When acts(Spread spread) const;
  /// Row-major index of the place.
  Expression linear(Spread loops, const Shape& shape) const;
  // ---- words.cpp: one element from its operands.
  Expression word(Id id, Spread loops);

  // ---- loops.cpp: statements, and loops over what a thread holds.
  void add(simt::Statement statement) { open_.back().push_back(std::move(statement)); }
  template <class F>
  simt::Block block_of(F&& f) {
    open_.emplace_back();
    f();
    simt::Block block = std::move(open_.back());
    open_.pop_back();
    return block;
  }
  template <class F>
  void within(When when, F&& f) {
    if (when) add(simt::Branch{.when = *std::move(when), .then = block_of(f)});
    else add(simt::Scope{block_of(f)});
  }
  void let(simt::Type type, Name name, Expression value) {
    add(simt::Declare{.what = {name, type, {}}, .value = std::move(value), .constant = true});
  }
  void declare(Name name, simt::Type type, simt::Sizes sizes = {}) { add(simt::Declare{.what = {name, type, sizes}}); }
  void declare(Id id);
  void assign(Expression target, Expression value, When when = {}) {
    add({simt::Assign{.target = std::move(target), .value = std::move(value)}, std::move(when)});
  }
  void origin(Id id);
  /// Loops over what a thread holds; `body` adds the innermost statements. `vectors`: once for every vector, with k = 0.
  enum class Step : std::uint8_t { Elements, Vectors };
  using Body = std::function<void()>;
  /// `values`: whose elements the body takes.
  void loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, const Body& body);
  void loops(Spread spread, const Shape& shape, Step step, const Body& body) { loops(spread, shape, step, {}, body); }
  void row_loop(const Body& body);
  void column_loop(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, const Body& body);
  Expression column() const;
  void each_of_vector(const Body& body) {
    origin_ = {};  // a pass may copy the elements
    add(simt::EachOfVector{.count = grid_.vector, .body = block_of(body)});
  }
  /// The loads that the elements of these values take a vector of.
  std::set<Id> vectors_of(const std::vector<Id>& values) const;

  // ---- sharing.cpp: words that share a loop.
  void shared_loop(const SharedLoop& loop);
  /// A word of one element.
  void scalar_word(Id id);

  // ---- memory.cpp
  void load(Id id);
  void store(Id id);
  bool store_pieces(Id store, Id value, Id mask);
  void store_piece(const VectorAccess& vectors, Id pointer);
  bool store_by_rows(const VectorAccess& vectors, Id pointer, Id value);
  bool store_by_warps(const VectorAccess& vectors, Id pointer, Id value);
  void random_words(Id id);
  void write_in_order(Id id);
  void atomic(Id id);
  bool is_free(DType dtype) const;
  void change_freely(Id id, const tile::Atomic& what);
  void check(Id id);
  void show(Id id);
  void load_volatile(Id id);
  Expression with_eviction(Id access, Expression pointer) const;
  void vectors(Id pointer, Spread own, const std::vector<Id>& values, const Body& body);
  struct Access {
    Expression pointer;               // of the first element of the vector
    int wide = 1;                     // elements side by side in one access; 0: not side by side
    std::vector<When> on;             // conditions that hold for the whole vector or not at all
    std::vector<Expression> limits;   // how many elements of the vector are inside
    bool whole = true;                // the limits are multiples of `wide`
  };
  Access access_of(const VectorAccess& vectors, Id pointer, Spread spread);
  std::optional<Access> wide_access(Id pointer, Id mask, Spread spread);
  Expression place_in(Id pointer, Spread loops) { return affine_element(a_.affine(pointer), loops, a_.type(pointer).shape); }
  bool is_read_only(Id pointer) const;
  Expression source(Id pointer, Expression text) const;
  /// Returns the number of the vector's elements that are there; the whole vector where nothing limits it.
  Expression inside(const Access& access, int count) const;
  simt::Type wide_type(Id pointer) const { return simt::wide(a_.type(pointer).dtype, grid_.vector); }
  void touch(Id pointer, bool writes, bool next = true);

  // ---- staged.cpp: rows in shared memory.
  void stage(Id load);
  Expression staged_place(Id load) const;
  void read_vector(Id load);
  void read_ahead(Id reduction);
  bool at_hand(Id load) const { return decided_.staging.staged.contains(load) || decided_.staging.direct.contains(load); }
  void await_staged();

  // ---- across.cpp: what different threads hold comes together.
  simt::Operation operation_of(Id reduce) const { return {at(reduce).kind, at(reduce).type.dtype}; }
  void arg_reduce(Id id);
  void reductions(const SharedReductions& all);
  Expression part_of(Id reduce, Expression which) const;
  void begin_sums(Id reduce, int parts, bool column, std::vector<std::pair<Id, Expression>>& sums);
  void combine_alike(const std::vector<Id>& alike, Spread own, bool columns, bool rows);
  /// Adds what the thread holds of the operands to these registers, in one loop.
  void accumulate(const std::vector<std::pair<Id, Expression>>& reductions);
  std::optional<Expression> sum_of_products(Id reduce, const Expression& sum, Spread own);
  Expression first_across(Name name, Spread spread) const;
  /// `idle_bytes`: of the ring, which the loop before has left.
  void combine(const simt::Operation& op, Expression first, std::int64_t held, Spread own, bool columns, bool rows, std::size_t bytes,
               std::size_t idle_bytes = 0);
  void combine_columns(simt::Combine combine, std::size_t bytes);
  void combine_rows(simt::Combine combine, Spread own, std::size_t bytes, std::size_t idle_bytes);
  void combine_across(const simt::Operation& op, Name name, bool columns, bool rows, Spread spread, std::size_t bytes,
                      std::size_t idle_bytes = 0);
  bool combine_rows_for_first(const simt::Operation& op, const std::vector<Name>& names, Spread spread, std::size_t bytes,
                              std::size_t idle_bytes);
  void meet_cluster() {
    if (grid_.cluster > 1) add(simt::MeetCluster{});
  }

  // ---- products.cpp: products that tensor cores do.
  Expression tile_begin(const Operand& operand) const;
  Expression copied_begin(Id load, const char* stage) const;
  void copy_tile(Id load);
  void await_tiles();
  // ---- boxes.cpp: what the copy engine brings and takes.
  void copy_boxes(Id load, const CopiedTile& copied);
  bool store_by_boxes(Id store, Id value);
  Expression map_size(const simt::TensorMap::Size& size) const;
  Expression begin_of_planes(const simt::TensorMap& map, const simt::Expressions& numbers) const;
  bool comes_apart(const Operand& operand) const;
  bool begins_anew(Id id) const;
  std::size_t counters_of(Id load) const;
  void write_operands(const Product& product);
  Expression matrix_place(const Operand& operand, bool is_left) const;
  void tensor_product(Id id, const Product& product);
  void product_steps(Id id, const Product& product);
  void group_steps(Id id, const Product& product);
  // ---- shared_terms.cpp: blocks of a cluster that share them.
  bool shares_terms(Id loop) const { return grid_.parts_of_terms && decided_.products.rings.contains(loop); }
  void begin_shared_sums(Id loop);
  void share_iterations(Id loop, simt::For& iterations);
  void gather_sums(Id loop);
  template <class F>
  void each_vector(std::int64_t columns, F&& f);
  // ---- products.cpp
  /// A number of a column, in the own block's part of the tile.
  Expression of_column_block(Expression column) const {
    return grid_.column_blocks == 1 ? column : std::move(column) + Expression("block") * grid_.columns_of_part();
  }
  const std::pair<const Id, Product>* behind(Id ahead) const;
  void product_behind(Id id, const Product& product);
  /// In turn products go on behind their scope.
  Name packed_left(Id id) const { return decided_.products.turns ? Name("a", id) : Name("a"); }
  std::int64_t steps_of(Id id, const Product& product) const;
  void declare_packed(Id id, const Product& product);
  Expression left_part(const Product& product, std::int64_t part) const;
  void pack_left(Id id, const Product& product, const std::function<Expression(std::int64_t)>& part);

  // ---- shared.cpp: words that go through shared memory as a whole.
  void reduce_shared(Id id);
  void scan(Id id);
  void sort(Id id);
  void dot(Id id);
  void gather_along(Id id);
  void histogram(Id id);
  void rearrange(Id id);
  void change_layout(Id id, const LayoutChange& change);
  void let_shared(Name name, simt::Type type, std::size_t offset = 0);
  void to_shared(Id id, Name name);
  void from_shared(Id id, const Expression& expression);
  void barrier() { add(simt::Barrier{}); }
  void use_shared(std::size_t bytes) { add(simt::UseScratch{bytes}); }

  // ---- control.cpp
  void entry();
  void body();
  void region(const tile::Region& region);
  void instruction(Id id);
  void loop(Id id);
  void loop_while(Id id);
  void agree(Name variable, DType dtype);
  void branch(Id id);
  void assign_all(Id variable, Id value);
  void begin_carried(Id parameter, Id first, const std::optional<DeferredSum>& deferred);
  void carry_on(const tile::Region& body, const DeferredSums& deferred);
  simt::Box<simt::Ring> fetches(const RingPlan& plan) const;
  void keep_parts_apart(const tile::Region& body, simt::Block& block) const;
  bool moves_on(const tile::Region& body, Id pointer) const;
  bool only_stored_behind(const DeferredSum& deferred) const;
  void deferred_reduction(Id id, const DeferredSum& deferred);
  void begin_share(const DeferredSum& deferred);
  void add_share(const DeferredSum& deferred);
  void add_scaled(const DeferredSum& deferred);
  void combine_deferred(const DeferredSums& all, std::size_t idle_bytes);

  bool in_turn() const { return decided_.walkers > 0; }  // blocks walk over all instances, every place belongs to one of them

  const Decisions& decided_;
  std::vector<simt::Block> open_;  // blocks that statements are added to, the innermost last
  std::pair<const char*, std::uint32_t> origin_;  // the last one that was said
  std::size_t staged_bytes_ = 0;
  bool reads_ahead_ = false;  // the last pass finds its first vectors in registers
  bool awaits_staged_ = false;  // copies are on their way
  bool awaits_tiles_ = false;   // the same of tiles, where they stand
  int repeats_ = 0;  // loops of the program that are open
  int open_rings_ = 0;  // those of them that copy tiles ahead
  std::set<Id> local_;  // computed in the innermost loop that is open, as a scalar
  std::map<Id, const DeferredSum*> deferred_;
};

}  // namespace tegula::gpu
