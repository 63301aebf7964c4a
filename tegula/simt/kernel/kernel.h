#pragma once
// A kernel as data: typed statements over registers. The lowering makes it, passes change it, the verifier reads it, the printer writes it as CUDA C++.
//
// All statements are executed by every thread of a block, in order, unless `when` or a Branch says otherwise. Registers are arrays of constant sizes, by
// layout (layout.h): v[r][c][k]. Shared memory is one array of bytes, `shared`: scratch that is used again and again, then the parts of reductions, then
// the ring of what is fetched ahead (`ring`), then staged rows (`held`).

#include <cstddef>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/simt/kernel/boxes.h"
#include "tegula/simt/kernel/expression.h"
#include "tegula/simt/kernel/register.h"
#include "tegula/simt/layouts/linear.h"
#include "tegula/simt/printed.h"
#include "tegula/simt/tensor_map.h"
#include "tegula/tile/atomic.h"

namespace tegula::simt {

struct Statement;
using Block = std::vector<Statement, InArena<Statement>>;

// ---- What is said to readers.
struct Origin {
  Line where;  // of the user's program: what follows computes it
};
struct Note {
  std::string text;
};

// ---- Registers.
struct Declare {
  Register what;
  std::optional<Expression> value;
  bool constant = false;
};
struct Assign {
  Expression target, value;
  bool adds = false;  // to what is there
};
/// Keeps the compiler from widening packed values once for all that follows.
struct Keep {
  Expression value;
};
struct Unused {  // keeps the compiler from warning of a variable that nothing reads
  Name name;
};

// ---- Control.
/// Over registers: `name` counts from `begin` to `end` (constants). `unroll`: nothing said; 0: wholly; n: n steps.
struct Loop {
  Name name;
  std::int64_t begin = 0, end = 0;
  std::optional<int> unroll;
  Block body;
  bool on_one_line = false;
};
/// The elements of the vector whose first column is `col`: in the body `k` counts them and `col` is the element's column.
struct EachOfVector {
  int count = 1;
  Block body;
};
/// The loads that a loop fetches ahead into a ring of stages in shared memory (passes/fetch_ahead.h).
struct Ring {
  struct Fetched {
    Name value;  // that the load leaves
    tile::Id pointer = -1;  // the same of its Touch
    DType dtype = DType::f32;
    std::size_t place = 0, bytes = 0;  // where its part of a stage begins; of what a thread copies at once
    bool rows = false;  // a number for each row
    std::int64_t column_steps = 0;  // vectors of a row, of a tile of rows and columns
    bool further = false;  // one iteration further ahead than the others
  };
  /// A number that can be computed for a later iteration.
  struct Address {
    Name value;
    Line where;
  };
  int stages = 0, ahead = 0;  // `ahead`: iterations
  bool waits_first = false;  // an iteration waits for its own before it fetches
  std::size_t stage_bytes = 0;
  std::string layout;  // where in the ring a thread's own bytes lie
  std::vector<Fetched> loads;
  std::vector<Address> addresses;  // what loads are reached by is computed from these, in order
};
/// `name` goes from `begin` to `end` in steps; with `when` so long as that holds, and `end` says nothing.
struct For {
  Type type;
  Name name;
  Expression begin, end, step;
  Block body;
  /// Tiles that are copied ahead (passes/fetch_tiles.h): for all threads of the block, so that these meet in each iteration.
  struct Tiles {
    int stages = 0;
    int late = 0;  // stages that are still read when an iteration's copies begin, beside that of the one before
    bool fenced = false;  // FenceTiles
    std::vector<Ring::Address> addresses;
    std::size_t box_bytes = 0;  // of a stage, where all of it comes as boxes; 0: threads copy
    std::size_t counters = 0;  // then: where a counter for each stage lies among the tiles
    bool apart = false;  // then: each tile has such counters, and comes anew where FreeTile says so
    bool turns = false;  // groups of four warps multiply in turn
    bool behind =
        false;  // then: an iteration's last product is begun in the next one, and the scope behind the loop begins that of the last one
  };
  struct OfProgram {
    std::set<tile::Id> moving;  // pointers whose tiles never meet in two iterations
    std::string ring;  // the layout of what is fetched ahead; empty: nothing is
    Box<Ring> fetches;  // what a pass has fetched ahead
    Box<Tiles> tiles;  // the same
    std::size_t own = 0;  // statements of the body, from the first on, that are an iteration's own: the others carry values on
  };
  std::optional<OfProgram> program;  // nothing: a part of one word
  Condition when = {};
};
struct Branch {
  Expression when;
  Block then, otherwise;
  bool of_program = false;  // an If of the program; has two sides
  bool on_one_line = false;
};
struct Scope {
  Block body;
};
struct Leave {};  // leaves the kernel

// ---- Threads wait for each other.
struct Barrier {
  /// Team: all but the warps that copy for the others (Kernel::copiers).
  enum class Kind : std::uint8_t { Block, Cluster, ClusterArrive, ClusterWait, Team, Warp };
  Kind kind = Kind::Block;
  int threads = 0;  // of a team
  bool frees_ring = true;  // nobody reads the ring behind it, unless a loop that uses it is open
};
/// Warps meet at one of the block's numbered barriers: when `threads` of them are there, the waiting ones go on; the others go on at once (bar.sync,
/// bar.arrive).
struct NumberedBarrier {
  Expression number;
  int threads = 0;
  bool waits = true;
  static constexpr int kFirstTurn = 2;  // 0 is the block's, 1 is the team's; these are the turns of the groups (passes/split_roles.h)
};
/// Groups of four warps give registers back, or take what others gave back, until each of their threads has so many (setmaxnreg). All of a group do so.
struct MoveRegisters {
  int count = 0;
  bool takes = false;
  static constexpr int kAll = 65536, kStep = 8, kLeast = 24, kMost = 240;  // of a multiprocessor; counts are multiples of the step
  /// The number of registers that each of a block's `threads` threads begins with.
  static constexpr int at_first(int threads) { return kAll / threads / kStep * kStep; }
  /// The number that each of `threads` can have if `others` of their block keep the least.
  static constexpr int beside(int threads, int others) {
    const int each = (at_first(threads + others) * (threads + others) - others * kLeast) / threads / kStep * kStep;
    return each < kMost ? each : kMost;
  }
};
/// Threads leave the kernel's work to the launch behind, or wait for the launch ahead.
struct AwaitLaunchAhead {};

// ---- Memory of tensors.
/// `target` [wide * …] = `count` elements from `pointer`, in accesses of `wide` elements; of those at and behind `limit` the `substitute`.
struct LoadWide {
  int wide = 1, count = 1;
  Expression pointer, target;
  struct Limit {
    Expression limit, substitute;
    bool whole = true;  // the limit is a multiple of `wide`
  };
  std::optional<Limit> limited;
};
struct StoreWide {
  int wide = 1, count = 1;
  Expression pointer, source;
  struct Limit {
    Expression limit;
    bool whole = true;
  };
  std::optional<Limit> limited;
  bool rows = false;  // of several rows in turn
};
struct StoreOne {
  DType computed;
  Expression value, pointer;
};
/// One element of an integer dtype of 4 or 8 bytes, as the hardware does it.
struct Atomic {
  tile::AtomicKind kind = tile::AtomicKind::Add;
  tile::Scope scope = tile::Scope::Gpu;
  DType dtype;
  Expression pointer, value;
  Condition compared;  // of CompareAndSwap
  Condition target;  // where what was there before goes
};
/// The threads of the scope see what the thread did before ahead of what it does behind.
struct Fence {
  tile::Scope scope = tile::Scope::Gpu;
};
/// Writes in the order of `places`; each thread writes the elements that belong to it: `owner` of `owners`.
struct WriteInOrder {
  std::optional<tile::AtomicKind> changes;  // nothing: stores
  bool keeps_old = false;  // what was there before takes the place of the value
  Expression count, owners, owner;
};
struct Report {  // a check that did not hold
  std::int64_t id = 0;
  Expression value;
};
/// Shows an element, with its row-major index.
struct Show {
  std::int32_t word = 0;  // in the kernel's list
  DType dtype = DType::f32;
  Expression value, index;
};
/// Four random words from one counter.
struct Philox {
  Expression seed, counter, target;
};

// ---- Copies into shared memory that go on while threads compute.
struct CopyAsync {  // 16 bytes of a staged row
  Expression source, place;
};
struct AwaitCopies {};
struct CopyAhead {  // `count` elements in accesses of `wide`, `inside` of them are there
  int wide = 1, count = 1;
  Expression place, source, inside;
};
struct CloseCopies {};
struct WaitForCopies {
  int unfinished = 0;  // groups that may still be on their way
};

// ---- Across threads.
/// Brings together what threads hold in `registers` (addresses of `held` numbers each).
struct Combine {
  enum class How : std::uint8_t {
    Columns,  // across a row of threads, and the blocks of a cluster
    Rows,  // across a column of threads
    RowsAlike,  // where all threads of a row hold the same
    RowsForFirst,  // for the first row of threads only
  };
  enum class Place : std::uint8_t { None, Scratch, Parts, Ring };
  How how = How::Columns;
  Operation operation;
  int row_threads = 1, column_threads = 1, cluster = 1;
  std::int64_t held = 1;
  std::int64_t at_once = 0;  // of Rows, where it is not as the prelude has it
  bool again = false;  // its memory is used again before all threads have met elsewhere
  Expressions registers;
  Place place = Place::None;
  std::size_t part_bytes = 0;  // that it needs among the parts
  bool counted = false;  // blocks count what has arrived instead of meeting
  std::size_t offset = 0;  // among the parts (place_shared)
  std::optional<std::size_t> counter;  // the same of the counter
  bool meets = false;  // all threads of the block have been at this place when it is over
};
/// `count` numbers of `source` to that place in the shared memory of the cluster's block of that number.
struct SendWide {
  int count = 1;
  Expression place, block, source;
};
struct BeginExchange {  // before the first exchange through this counter
  std::size_t counter = 0;
};
/// Scans `count` numbers at `tile` along an axis; `name` is where they are then.
struct Scan {
  Name name;
  Operation operation;
  std::int64_t count = 0, length = 0, stride = 0;
};
/// Sorts `count` keys at `tile` along an axis; `name` is the order then.
struct Sort {
  Name name;
  std::int64_t count = 0, length = 0, stride = 0;
  bool descending = false;
};

/// `target` = what the lane of the warp holds in `source` whose number differs from the thread's own in the bits of `distance`.
struct Shuffle {
  Expression target, source, distance;
};

// ---- Tensor cores. A fragment's register is `packed` numbers of 4 bytes together; layouts are those of PTX's "Matrix Fragments for mma.m16n8k16" (linear.h).
/// Four matrices of 8 rows of 16 bytes into four registers: lane l gives the place of row l % 8 of matrix l / 8, and gets of each matrix the bytes from
/// 4 * (l % 4) on of row l / 4; `by_terms`, of halves: of column l / 4 the rows 2 * (l % 4) and the next.
struct ReadMatrices {
  bool by_terms = false;
  Expression place, target;
};
/// The other way, of halves: lane l gives the place of row l % 8 of matrix l / 8, and leaves of each matrix the bytes from 4 * (l % 4) on of row l / 4.
struct WriteMatrices {
  Expression place, source;
};
/// A register of a fragment from as many numbers as it holds.
struct PackFragment {
  Expression source, target;
};
/// The sums of a 16 x 8 tile, `upper` and `lower` rows' two each, add products of 16 x n and n x 8 operands, n of 32 bytes. The lanes of a warp do so together.
struct MultiplyFragments {
  DType dtype = DType::bf16;
  Expression upper, lower, left, right;
  int second = 0;  // of `right`: the first of the two registers
};

/// The same by four warps together (wgmma): the sums of a 64 x `columns` tile, of which `upper` and `lower` name the rows' vectors, add 64 x n times
/// n x columns elements, n of 32 bytes, some time until they are awaited. Operands lie in shared memory in rows of `pitch` bytes (32, 64, 128: the swizzle of
/// that size): rows of them, or, of halves only, where they are `by_terms` terms, with `beside` bytes from 64 of a row to the next. f32 is multiplied as TF32.
struct MultiplyTile {
  struct Side {
    Expression place;  // of the first n terms
    int pitch = 128;
    std::size_t beside = 0;
    bool by_terms = false;
  };
  DType dtype = DType::bf16;
  int columns = 8;
  Expression upper, lower;
  Condition registers;  // of the left operand, if it is not in shared memory: four, as MultiplyFragments has them
  Side left, right;
  bool fresh = false;  // what the sums were before counts for nothing
  bool behind = false;  // of tiles of the iteration before (AwaitTile)
};
/// Before the first of several MultiplyTiles; behind them; until all but the last `unfinished` of such groups are done.
struct BeginProducts {};
struct CloseProducts {};
struct AwaitProducts {
  int unfinished = 0;
};
/// Makes what the thread wrote to shared memory visible to those products, and to the copy engine, once threads have met.
struct FenceTiles {};

// ---- What passes put something in the place of (passes/).
/// A tile of memory that all threads copy into shared memory; `ahead`: into the stage `into`, for a later iteration of the loop.
struct CopyTile {
  tile::Id pointer = -1;  // the same of its Touch
  bool ahead = false;
  tile::Id load = -1;
  std::size_t box_bytes = 0, counters = 0;  // where it comes as boxes; and apart: where its counters lie among the tiles
  Block body;
};
/// Threads read what was copied ahead for this iteration from here on; and from here on do not read it any more. `behind`: for the one before; of the first
/// iteration a pass leaves that out (passes/split_roles.h).
struct AwaitTile {
  tile::Id load = -1;
  bool behind = false;
};
struct FreeTile {
  tile::Id load = -1;
  bool behind = false;
};
/// The tile in the registers of `source` in those of `target`, where it lies otherwise. `to` names elements by their numbers in `from`; they are 2^bits.
struct Convert {
  Register source, target;
  Linear from, to;
  int bits = 0;
};
struct Reduced {};  // reductions over columns, or rows, have been brought together here
/// The next statements touch memory: a barrier stands here where what was touched before may be the same place.
struct Touch {
  tile::Id root = -1, pointer = -1;
  bool writes = false;
  bool shared_place = false;  // several threads hold the same elements
  bool steady = false;  // no launch of the plan writes there
  bool next = true;  // else later statements do, each for itself
};
/// The next statements use so much of the scratch, between barriers.
struct UseScratch {
  std::size_t bytes = 0;
};
struct MeetCluster {};  // from here on the other blocks of the cluster run
/// The ring is used from here on, with this layout; OpenRing is before the first copy into it.
struct UseRing {
  std::string layout;
};
struct OpenRing {};

template <class T>
T& unboxed(T& value) {
  return value;
}
template <class T>
T& unboxed(Box<T>& box) {
  return *box;
}
template <class T>
const T& unboxed(const Box<T>& box) {
  return *box;
}

template <class T, class Variant>
inline constexpr bool kIsKind = false;
template <class T, class... Kinds>
inline constexpr bool kIsKind<T, std::variant<Kinds...>> = (std::is_same_v<T, Kinds> || ...);

struct Statement {
  using What =
      std::variant<Origin, Note, Declare, Assign, Keep, Unused, Loop, EachOfVector, Box<For>, Branch, Scope, Leave, Barrier,
                   NumberedBarrier, MoveRegisters, AwaitLaunchAhead, Box<LoadWide>, Box<StoreWide>, StoreOne, Box<Atomic>, Fence,
                   Box<WriteInOrder>, Report, Box<Show>, Box<Philox>, CopyAsync, AwaitCopies, Box<CopyAhead>, CloseCopies, WaitForCopies,
                   BeginCounters, EndCounters, ExpectBytes, Arrive, Box<CopyBox>, AwaitBytes, Box<StoreBox>, CloseStores, AwaitStores,
                   Combine, SendWide, BeginExchange, Scan, Sort, Box<Shuffle>, ReadMatrices, WriteMatrices, PackFragment,
                   Box<MultiplyFragments>, Box<MultiplyTile>, BeginProducts, CloseProducts, AwaitProducts, FenceTiles, CopyTile, AwaitTile,
                   FreeTile, Box<Convert>, Reduced, Touch, MeetCluster, UseRing, OpenRing, UseScratch>;
  template <class T>
  static constexpr bool kBoxed = kIsKind<Box<T>, What>;
  What what;
  Box<Expression> when;  // nothing: always

  template <class T>
  Statement(T statement, Condition condition = {})
      : what(std::in_place_type<std::conditional_t<kBoxed<T>, Box<T>, T>>, std::move(statement)) {
    if (condition) when = *std::move(condition);
  }
  // Defined in kernel.cpp: a source that instantiates copies of 55 kinds of statements takes twice as long to compile.
  Statement(const Statement& other);
  Statement(Statement&& other) noexcept;
  Statement& operator=(const Statement& other);
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();
  template <class T>
  T* as() {
    if constexpr (kBoxed<T>) {
      auto* const box = std::get_if<Box<T>>(&what);
      return box ? &**box : nullptr;
    } else {
      return std::get_if<T>(&what);
    }
  }
  template <class T>
  const T* as() const {
    return const_cast<Statement*>(this)->as<T>();
  }
};

/// Inline assembly as a function of numbers, named by what it says.
struct Assembly {
  std::string name;
  tile::Text what;
  DType result = DType::f32;
  std::vector<DType> operands;
};

/// One argument of the program, as the kernel takes it.
struct KernelParameter {
  enum class Hint : std::uint8_t { None, Lasting /* only read */, Passing /* only written */ };
  Name name;
  tile::Parameter declared;
  Hint hint = Hint::None;
};

struct Kernel {
  std::string program;  // its name
  std::int64_t rows = 1, columns = 1;  // of its tile
  int vector = 1;
  int row_threads = 1, column_threads = 1;
  bool groups = false;  // threads lie as wgmma has them: 16 rows a warp
  int column_warps = 0;  // of fragments: warps beside each other; threads lie in them 8 x 4; 0: in rows
  int cluster = 1;  // blocks that run one instance
  int rows_apart = 0, columns_apart = 0;  // where these have parts of its tile: from the first row, or column, of one to that of the next
  int resident = 0;  // blocks that a multiprocessor should hold at a time; 0: as many as there is room for
  bool many_sets = false, guarded = false, one_axis = false;
  bool lets_next_begin = false;
  int walkers = 0;  // blocks that go over all instances in turn; 0: a block, or a cluster, for each instance
  /// Threads behind the others, of which the first copies for them: a warp, or a group of four that gives registers to the others.
  int copiers = 0;
  bool stays = false;  // then: blocks stay, each takes every instance that is the number of blocks further than its last
  std::vector<KernelParameter> parameters;
  std::vector<TensorMap> maps;  // that it takes behind its arguments
  std::vector<Assembly> assembly;
  PrintedWords prints;
  Block entry;  // before a thread knows its instance
  Block begin;  // the same, behind the names of shared memory; `entry` stands ahead of them
  Block body;
  Block end = {};  // behind the last instance
  // Bytes of dynamic shared memory.
  std::size_t scratch_bytes = 0, part_bytes = 0, ring_bytes = 0, staged_bytes = 0, tile_bytes = 0;

  int team() const { return row_threads * column_threads; }
  int threads() const { return team() + copiers; }
  /// What a thread's numbers `tr` and `tc` have more in a block than in the one before.
  int row_threads_apart() const { return rows_apart; }
  int column_threads_apart() const { return columns_apart / vector; }
  std::size_t parts_begin() const { return (scratch_bytes + 15) / 16 * 16; }
  /// Rings begin at lines of 128 bytes: between them they are filled at 0.77 of the rate (H200).
  std::size_t ring_begin() const { return ring_bytes > 0 ? (parts_begin() + part_bytes + 127) / 128 * 128 : parts_begin() + part_bytes; }
  std::size_t staged_begin() const { return (ring_begin() + ring_bytes + 127) / 128 * 128; }
  /// Tiles that tensor cores read.
  std::size_t tiles_begin() const { return (staged_begin() + staged_bytes + 127) / 128 * 128; }
  /// Tiles of four warps' products begin at the next multiple of this.
  static constexpr std::size_t kTileLine = 1024;
  std::size_t shared_bytes() const {
    if (tile_bytes > 0) return tiles_begin() + tile_bytes + (groups ? kTileLine : 0);
    return staged_bytes > 0 ? staged_begin() + staged_bytes : ring_begin() + ring_bytes;
  }
};

}  // namespace tegula::simt
