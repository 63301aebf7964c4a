#pragma once
// Writes one kernel. The files codegen_*.cpp each hold the part of this class that their name says.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tegula/simt/analysis.h"
#include "tegula/simt/layout.h"
#include "tegula/simt/staged_rows.h"

namespace tegula::gpu {

class Writer {
 public:
  Writer(const Analysis& analysis, const ThreadGrid& grid, const StagedRows& staging, bool one_at_a_time)
      : a_(analysis),
        grid_(grid),
        staging_(staging),
        one_at_a_time_(one_at_a_time),
        stores_(stored_digits()),
        waits_(waits_late()) {}

  /// What every instance begins with; after body().
  std::string entry();
  /// The statements of the program's body, and the shared memory they use.
  std::string body();
  /// Bytes that are used again and again, then those that belong to one reduction each.
  std::size_t scratch_bytes() const { return (shared_bytes_ + 15) / 16 * 16; }
  std::size_t part_bytes() const { return part_bytes_; }
  std::size_t ring_bytes() const { return ring_bytes_; }
  std::size_t staged_bytes() const { return staged_bytes_; }

 private:
  using Id = tile::Id;

  // ---- codegen_values.cpp: names, types, elements.
  const tile::Instruction& at(Id id) const { return a_[id]; }
  Spread spread(Id id) const { return grid_.spread_of(a_.type(id).shape); }
  bool one_element(Id id) const { return numel(a_.type(id).shape) == 1; }
  /// Is not computed where it stands, but written into its users: forms, constants, tiles that only repeat or rename another.
  bool is_inline(Id id) const;
  bool renames(Id id) const;
  /// The element of a value at the current place of loops over `loops`.
  std::string element(Id id, Spread loops);
  std::string affine_element(const Form& form, Spread loops, const Shape& shape);
  /// The vector of halves that the loops are at, of a load that keeps them packed.
  std::string packed_vector(Id load) const;
  std::string box_element(const Form& form, Spread loops, const Shape& shape);
  std::string condition_text(const Condition& condition, Spread loops, const Shape& shape);
  std::string coordinate(int axis, Spread loops, const Shape& shape) const;
  std::string limit_name(const Term& limit);
  /// Dimensions of the registers of one thread, "[2][1][4]", and the place in them, "[r][c][k]".
  std::string dimensions(Spread spread, const Shape& shape) const;
  static std::string place(Spread spread);
  std::string variable(Id id) const { return "v" + std::to_string(a_.resolve(id)); }
  /// Where the place is inside the tile; empty when it always is.
  std::string inside(Spread loops, const Shape& shape) const;
  /// Where of several threads that hold the same this one should act; empty when there is only one.
  std::string acts(Spread spread) const;
  /// Row-major index of the place.
  std::string linear(Spread loops, const Shape& shape) const;

  /// Whether a tile is the same along what loops over `loops` walk fastest: a value for each row, or one for all.
  bool repeated(Id id, Spread loops) const;
  /// Whether the elements are the numbers of the columns.
  bool counts_columns(Id id, Spread loops) const;

  // ---- codegen_words.cpp: one element from its operands.
  /// What is left of a tile's floats where they are stored: 8 bits, 11, or all of them. Decides how exact a word has to be.
  enum class Digits : std::uint8_t { Brief, Half, All };
  Digits stored_digits() const;
  std::string word_text(Id id, Spread loops);

  // ---- codegen_text.cpp: lines, loops, words that share a loop.
  void line(const std::string& text);
  void open(const std::string& text);
  void close();
  void comment_origin(Id id);
  /// Loops over what a thread holds; `body` writes the innermost lines. `vectors`: once for every vector, with k = 0.
  enum class Step : std::uint8_t { Elements, Vectors };
  /// `values`: whose elements the body takes.
  template <class F>
  void loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, F&& body);
  template <class F>
  void loops(Spread spread, const Shape& shape, Step step, F&& body) {
    loops(spread, shape, step, {}, body);
  }
  std::string column_text() const;
  /// Whether the elements of the vector at `col` are still to be walked over.
  bool open_loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values);
  template <class F>
  void each_of_vector(F&& body);
  /// The loads that the text of these values takes a vector of.
  std::set<Id> vectors_of(const std::vector<Id>& values) const;
  void close_loops();
  void declare(Id id);
  void share_loop(Id id);
  void flush();
  void flush(Spread spread, std::int64_t count);
  /// Makes sure that what the value is computed from has been written.
  void need(Id id);
  /// The values that the text of an element names: itself, or what its form or its other name is made of.
  std::vector<Id> sources_of(Id id) const;
  /// A value that is written again wherever it is needed: how many words it takes, from which values that are held.
  struct Recipe {
    int words = 0;
    std::set<Id> held;
  };
  bool only_summed(Id id) const;
  std::optional<Recipe> recipe_for(Id id, Spread own, const std::set<Id>& members, const std::set<Id>& kept) const;
  bool only_stored(Id id) const;
  bool needed_after(Id id, Id now) const;

  // ---- codegen_memory.cpp
  void load(Id id);
  void store(Id id);
  void random_words(Id id);
  void write_in_order(Id id);
  void atomic_add(Id id);
  void check(Id id);
  struct Access {
    std::string pointer;              // of the first element of the vector
    int wide = 1;                     // elements side by side in one access; 0: not side by side
    std::vector<std::string> on;      // conditions that hold for the whole vector or not at all
    std::vector<std::string> limits;  // how many elements of the vector are inside
    bool whole = true;                // the limits are multiples of `wide`
  };
  std::optional<Access> wide_access(Id pointer, Id mask, Spread spread);
  bool stays_packed(Id load, Id other) const;
  void refresh(Id now);
  void settle(Id value);
  bool is_read_only(Id pointer) const;
  std::string source_text(Id pointer, const std::string& text) const;
  /// How many elements of the vector are there, as an expression; the whole vector where nothing limits it.
  std::string inside_text(const Access& access, int count) const;
  void stage(Id load);
  std::string staged_place(Id load) const;
  std::string wide_type(Id pointer) const;
  std::string load_text(Id pointer) const;
  void read_vector(Id load);
  void read_ahead(Id reduction);
  bool at_hand(Id load) const { return staging_.staged.contains(load) || staging_.direct.contains(load); }
  void await_staged();
  std::string pointer_text(const Form& form, Spread loops, const Shape& shape);
  void order_memory(Id pointer, bool writes);

  // ---- codegen_prefetch.cpp
  struct Prefetch {
    int stages = 0;  // 0: nothing is fetched ahead
    int ahead = 0;   // iterations
    std::set<tile::Id> nearer, further;  // loads that are fetched so far ahead, and one iteration more
    bool waits_first = false;    // an iteration waits for its own before it fetches: less is on its way
    std::size_t stage_bytes = 0;
    std::map<Id, std::size_t> places;  // load -> where its part of a stage begins
    std::string layout;  // where in the ring a thread's own bytes lie
  };
  bool follows_counter(const tile::Region& body, Id id) const;
  bool uses_counter(const tile::Region& body, Id id) const;
  std::size_t fetched_bytes(const tile::Region& body, Id load);
  std::optional<Access> source_access(Id load);
  int fetched_together(Id load) const;
  Prefetch plan_prefetch(const tile::Region& body);
  std::string ring_place(const Prefetch& plan, Id load, const std::string& stage) const;
  void fetch(const Prefetch& plan, const std::set<Id>& loads, const tile::Region& body, const std::string& counter, const std::string& end,
             const std::string& stage);
  void fetch_ahead(const Prefetch& plan, const tile::Region& body, const std::string& i, const std::string& end, const std::string& step);
  void begin_prefetch(const Prefetch& plan, const tile::Region& body, const std::string& begin, const std::string& end,
                      const std::string& step);
  void continue_prefetch(const Prefetch& plan, const tile::Region& body, const std::string& i, const std::string& end,
                         const std::string& step);
  Access fetched_access(const Prefetch& plan, Id load) const;

  // ---- codegen_across.cpp
  void reduce(Id id);
  void arg_reduce(Id id);
  void reduce_shared(Id id);
  void flush_reductions();
  bool compares_halves(Id reduce) const;
  void accumulate(const std::vector<std::pair<Id, std::string>>& reductions, Spread into);
  std::optional<std::string> sum_of_products(Id reduce, const std::string& sum, Spread own);
  std::int64_t held_across(Spread spread) const;
  std::string first_across(const std::string& name, Spread spread) const;
  /// `idle_bytes`: of the ring, which the loop before has left.
  void combine(const std::string& op, const std::string& first, std::int64_t held, Spread own, bool columns, bool rows, std::size_t bytes,
               std::size_t idle_bytes = 0);
  void combine_across(const std::string& op, const std::string& name, bool columns, bool rows, Spread spread, std::size_t bytes,
                      std::size_t idle_bytes = 0);
  bool combine_rows_for_first(const std::string& op, const std::vector<std::string>& names, Spread spread, std::size_t bytes,
                              std::size_t idle_bytes);
  enum class Crossing : std::uint8_t { None, Columns, Rows };
  Crossing crossing(Id reduce) const;  // for tiles that are not flat
  void scan(Id id);
  void sort(Id id);
  void dot(Id id);
  void rearrange(Id id);
  void to_shared(Id id, const std::string& name);
  void from_shared(Id id, const std::string& expression);
  void barrier();
  void have_met();
  void use_shared(std::size_t bytes);
  void begin_cluster();

  // ---- codegen_early.cpp: programs that begin while the launch ahead runs.
  bool waits_late() const;
  bool reads_unwritten(Id pointer) const;
  bool must_wait(Id id) const;
  std::optional<std::set<Id>> missing_for(Id load, const std::set<Id>& left) const;
  void wait_for_launch_ahead(const std::set<Id>& left);
  void guard();

  // ---- codegen_control.cpp
  void region(const tile::Region& region);
  void instruction(Id id);
  void leave_if_stopped();
  void loop(Id id);
  void branch(Id id);
  void assign(Id variable, Id value);
  struct Deferred {
    Id parameter = -1, combination = -1;
    std::vector<Id> chain;  // the reductions, first one first
    Id widened = -1;        // the cast of what they leave: the threads' own shares of some tiles are added in that type
    std::int64_t tiles = 1;  // so many at a time
  };
  bool moves_on(const tile::Region& body, Id pointer) const;
  bool only_stored_behind(const Deferred& deferred) const;
  void begin_share(const Deferred& deferred);
  void add_share(const Deferred& deferred);
  void combine_deferred(const std::vector<std::optional<Deferred>>& all, std::size_t idle_bytes);
  std::optional<Deferred> deferrable(const tile::Region& body, std::size_t k) const;

  const Analysis& a_;
  const ThreadGrid& grid_;
  const StagedRows& staging_;
  bool one_at_a_time_;  // blocks walk over all instances, every place belongs to one of them
  Digits stores_;
  std::string out_;
  bool leaves_ = false;  // the code before this place has left where the kernel is stopped
  bool waits_ = false;  // the launch ahead has still to be waited for
  std::set<Id> begun_;  // what was written ahead of that, before its turn
  int depth_ = 1;
  std::size_t shared_bytes_ = 0, part_bytes_ = 0, ring_bytes_ = 0, staged_bytes_ = 0;
  std::vector<std::size_t> exchanges_;  // between blocks: where the counters lie among the parts
  bool reads_ahead_ = false;  // the last pass finds its first vectors in registers
  bool awaits_staged_ = false;  // copies are on their way
  std::vector<Id> reductions_;  // that wait for each other
  std::vector<int> nests_;  // how many braces each open nest of loops has
  int repeats_ = 0;  // loops of the program that are open
  int meetings_ = 0;  // block-wide barriers of reductions so far
  bool apart_ = false;  // a loop's iteration has several reductions: each may reuse its shared memory when the others have met
  bool cluster_begun_ = false;
  std::map<Id, const Prefetch*> prefetched_;  // loads of the loops that are open
  std::string ring_use_;  // its layout in the last loop that had it, unless all threads have met since
  std::string origin_;
  struct SharedLoop {
    Spread spread;
    std::int64_t count;  // of the tile, for flat ones
    std::vector<Id> ids;
  };
  std::vector<SharedLoop> shared_loops_;
  std::map<Id, Recipe> recipes_;
  std::map<Id, std::size_t> packed_;  // loaded tiles that stay as they are stored: bytes of an element
  std::set<Id> late_;  // packed tiles loaded after a reduction and not used yet
  bool crossed_ = false;  // columns have been reduced
  std::set<Id> local_;  // written in the innermost loop that is open, as a scalar
  std::set<std::string> sought_;  // indices that the columns of a row have been compared with (a label, in cross-entropy)
  std::string absent_;  // that one of them which no column of the current vector equals
  std::vector<std::map<std::string, std::string>> limits_{1};  // expression -> name, by scope
  int names_ = 0;
  std::map<Id, const Deferred*> deferred_;
  std::map<Id, std::set<Id>> read_, written_;  // by root: pointers since the last barrier
  bool read_by_many_ = false;  // since then: the same place by several threads
};

std::string type_name(const tile::Type& type);
std::string constant_type(const tile::Type& type);
std::string stored_name(DType dtype);
std::string scalar_name(DType dtype);
std::string reduction_name(tile::Reduction kind);  // of the prelude's struct: Sum, Prod, …

template <class F>
void Writer::loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, F&& body) {
  if (open_loops(spread, shape, step, values)) each_of_vector(body);
  else body();
  close_loops();
}

/// Once for every element of a vector. A place that the row names (a label) lies in one vector of many: the others are spared the comparison.
template <class F>
void Writer::each_of_vector(F&& body) {
  line("const int first = col;");
  const auto walk = [&] {
    line("#pragma unroll");
    open("for (int k = 0; k < " + std::to_string(grid_.vector) + "; ++k)");
    line("const int col = first + k;");
    body();
    close();
  };
  const std::size_t begin = out_.size();
  const std::string origin = origin_;
  sought_.clear();
  walk();
  if (sought_.size() != 1) return;
  const std::string place = *sought_.begin();
  out_.resize(begin);
  origin_ = origin;
  open("if (static_cast<unsigned int>(place_of(" + place + ") - first) < " + std::to_string(grid_.vector) + "u)");
  walk();
  close();
  open("else");
  absent_ = place;
  walk();
  absent_.clear();
  close();
}

}  // namespace tegula::gpu
