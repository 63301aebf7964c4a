// Statements as lines of CUDA C++.

#include <cstring>

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

const char* truth(bool value) { return value ? "true" : "false"; }

class Printer {
 public:
  Printer(std::string& out, int depth) : out_(out), depth_(depth) {}

  void block(const Block& block) {
    for (const Statement& statement : block) print(statement);
  }

 private:
  void print(const Statement& statement) {
    when_ = statement.when ? &*statement.when : nullptr;
    std::visit([this](const auto& what) { (*this)(unboxed(what)); }, statement.what);
  }

  // ---- Lines.
  void indent() { out_.append(static_cast<std::size_t>(2 * depth_), ' '); }
  template <class... P>
  void say(const P&... parts) {
    (put(out_, parts), ...);
  }
  /// Begins a statement's line, with its condition.
  void begin() {
    if (!on_one_line_) indent();
    if (when_ != nullptr) say("if (", *when_, ") ");
    when_ = nullptr;
  }
  void end() { out_ += on_one_line_ ? ";" : ";\n"; }
  template <class... P>
  void line(const P&... parts) {
    begin(), say(parts...), end();
  }
  template <class... P>
  void open(const P&... parts) {
    indent(), say(parts..., " {\n");
    ++depth_;
  }
  void close() {
    --depth_;
    indent(), say("}\n");
  }
  void inline_statement(const Statement& statement) {
    on_one_line_ = true;
    print(statement);
    on_one_line_ = false;
  }
  void list(const Expressions& all) {
    for (std::size_t i = 0; i < all.size(); ++i) say(i > 0 ? ", " : "", all[i]);
  }

  // ---- What is said to readers.
  void operator()(const Origin& origin) {
    const char *const path = origin.where.file_name(), *const slash = std::strrchr(path, '/'), *const file = slash ? slash + 1 : path;
    if (origin.where.line() == origin_line_ && std::strcmp(file, origin_file_) == 0) return;
    origin_file_ = file, origin_line_ = origin.where.line();
    indent(), say("// ", file, ":", origin_line_, "\n");
  }
  void operator()(const Note& note) { indent(), say("// ", note.text, "\n"); }

  // ---- Registers.
  void operator()(const Declare& one) {
    const bool pointer = one.what.type.pointers > 0;
    begin();
    say(one.constant && !pointer ? "const " : "", one.what.type, one.constant && pointer ? " const " : " ", one.what.name);
    for (const std::int64_t size : one.what.sizes) say("[", size, "]");
    if (one.value) say(" = ", *one.value);
    end();
  }
  void operator()(const Assign& one) { line(one.target, one.adds ? " += " : " = ", one.value); }
  void operator()(const Keep& keep) { line("keep_packed(", keep.value, ")"); }
  void operator()(const Unused& unused) { line("(void)", unused.name); }

  // ---- Control.
  void operator()(const Loop& loop) {
    if (loop.unroll) {
      indent(), say("#pragma unroll");
      if (*loop.unroll > 0) say(" ", *loop.unroll);
      say("\n");
    }
    indent(), say("for (int ", loop.name, " = ", loop.begin, "; ", loop.name, " < ", loop.end, "; ++", loop.name, ")");
    if (loop.on_one_line) {
      say(" ");
      inline_statement(loop.body.front());
      return say("\n");
    }
    say(" {\n");
    ++depth_;
    block(loop.body);
    close();
  }
  void operator()(const For& loop) {
    open("for (", loop.type, " ", loop.name, " = ", loop.begin, "; ", loop.when ? *loop.when : Expression(loop.name) < loop.end, "; ",
         loop.name, " += ", loop.step, ")");
    block(loop.body);
    close();
  }
  void operator()(const Branch& branch) {
    if (branch.on_one_line) {
      indent(), say("if (", branch.when, ") ");
      inline_statement(branch.then.front());
      say(" else ");
      inline_statement(branch.otherwise.front());
      return say("\n");
    }
    open("if (", branch.when, ")");
    block(branch.then);
    close();
    if (branch.otherwise.empty() && !branch.of_program) return;
    open("else");
    block(branch.otherwise);
    close();
  }
  void operator()(const Scope& scope) {
    open("");
    block(scope.body);
    close();
  }
  void operator()(const Leave&) { line("return"); }

  // ---- Threads wait for each other.
  void operator()(const Barrier& barrier) {
    switch (barrier.kind) {
      case Barrier::Kind::Block: return line("__syncthreads()");
      case Barrier::Kind::Cluster: return line("cluster_barrier()");
      case Barrier::Kind::ClusterArrive: return line("cluster_arrive()");
      case Barrier::Kind::ClusterWait: return line("cluster_wait()");
      case Barrier::Kind::Team: return line("team_barrier(", barrier.threads, ")");
      case Barrier::Kind::Warp: return line("__syncwarp()");
    }
  }
  void operator()(const NumberedBarrier& one) { line(one.waits ? "wait_at(" : "arrive_at(", one.number, ", ", one.threads, ")"); }
  void operator()(const MoveRegisters& one) { line(one.takes ? "take_registers<" : "leave_registers<", one.count, ">()"); }
  void operator()(const AwaitLaunchAhead&) { line("await_launch_ahead()"); }

  // ---- Memory of tensors.
  void operator()(const LoadWide& load) {
    begin();
    say("load_wide<", load.wide, ", ", load.count);
    if (load.limited) say(load.limited->whole ? ", true" : ", false");
    say(">(", load.pointer, ", ", load.target);
    if (load.limited) say(", ", load.limited->limit, ", ", load.limited->substitute);
    say(")");
    end();
  }
  void operator()(const StoreWide& store) {
    begin();
    say(store.rows ? "store_rows<" : "store_wide<", store.wide, ", ", store.count);
    if (store.limited) say(store.limited->whole ? ", true" : ", false");
    say(">(", store.pointer, ", ", store.source);
    if (store.limited) say(", ", store.limited->limit);
    say(")");
    end();
  }
  void operator()(const StoreOne& store) {
    line("narrow(static_cast<", computed(store.computed), ">(", store.value, "), *(", store.pointer, "))");
  }
  void operator()(const Atomic& atomic) {
    static constexpr const char* kNames[] = {"Add(", "Max(", "Min(", "And(", "Or(", "Xor(", "Exch(", "CAS("};
    static constexpr const char* kScoped[] = {"Add_", "Max_", "Min_", "And_", "Or_", "Xor_", "Exch_", "CAS_"};
    const bool compares = atomic.kind == tile::AtomicKind::Max || atomic.kind == tile::AtomicKind::Min;
    const Type word = compares ? stored(atomic.dtype) : Type{.kind = Type::Kind::Unsigned, .dtype = atomic.dtype};
    const auto kind = static_cast<std::size_t>(atomic.kind);
    begin();
    if (atomic.target) say(*atomic.target, " = static_cast<", computed(atomic.dtype), ">(");
    say("atomic", atomic.scope == tile::Scope::Gpu ? kNames[kind] : kScoped[kind]);
    if (atomic.scope != tile::Scope::Gpu) say(atomic.scope == tile::Scope::Cta ? "block(" : "system(");
    say("reinterpret_cast<", pointer_to(word), ">(", atomic.pointer, "), ");
    if (atomic.compared) say("static_cast<", word, ">(", *atomic.compared, "), ");
    say("static_cast<", word, ">(", atomic.value, "))", atomic.target ? ")" : "");
    end();
  }
  void operator()(const Fence& fence) {
    static constexpr const char* kNames[] = {"__threadfence_block()", "__threadfence()", "__threadfence_system()"};
    line(kNames[static_cast<std::size_t>(fence.scope)]);
  }
  void operator()(const WriteInOrder& write) {
    const bool adds = write.changes == tile::AtomicKind::Add && !write.keeps_old;
    const auto said = [&](const char* what, const char* how, const char* values) {
      line(what, how, ">(places, ", values, ", ", write.count, ", ", write.owners, ", ", write.owner, ")");
    };
    if (!write.changes || adds) return said("write_in_order<", truth(adds), "values");
    if (write.changes == tile::AtomicKind::CompareAndSwap) return said("swap_in_order<", truth(write.keeps_old), "values, compared");
    static constexpr const char* kNames[] = {"Sum", "Max", "Min", "All", "Any", "Either", "Latter"};
    said(("change_in_order<" + std::string(kNames[static_cast<std::size_t>(*write.changes)]) + ", ").c_str(), truth(write.keeps_old),
         "values");
  }
  void operator()(const Report& report) { line("report(failure, ", report.id, ", ", report.value, ")"); }
  void operator()(const Show& show) {
    begin();
    say("leave_printed(printed, ", show.word, ", id0, id1, id2, static_cast<int>(", show.index, "), ");
    if (is_float(show.dtype)) say("same_bits(static_cast<double>(", show.value, "), 0ll))");
    else say("static_cast<long long>(", show.value, "))");
    end();
  }
  void operator()(const Philox& philox) { line("philox_words(", philox.seed, ", ", philox.counter, ", ", philox.target, ")"); }

  // ---- Copies.
  void operator()(const CopyAsync& copy) { line("copy_async(", copy.source, ", ", copy.place, ")"); }
  void operator()(const AwaitCopies&) { line("await_copies()"); }
  void operator()(const CopyAhead& copy) {
    line("copy_ahead<", copy.wide, ", ", copy.count, ">(", copy.place, ", ", copy.source, ", ", copy.inside, ")");
  }
  void operator()(const CloseCopies&) { line("close_copies()"); }
  void operator()(const BeginCounters& one) {
    if (one.arrivals == 1) line("begin_counters(", one.place, ", ", one.count, ")");
    else line("begin_counters(", one.place, ", ", one.count, ", ", one.arrivals, ")");
  }
  void operator()(const EndCounters& one) { line("end_counters(", one.place, ", ", one.count, ")"); }
  void operator()(const ExpectBytes& expect) { line("expect_bytes(", expect.counter, ", ", expect.bytes, ")"); }
  void operator()(const Arrive& arrive) {
    if (arrive.block) line("arrive_in(", arrive.counter, ", ", *arrive.block, ")");
    else line("arrive(", arrive.counter, ")");
  }
  void operator()(const CopyBox& copy) {
    begin();
    if (copy.inside) {
      say("copy_inside(", copy.place, ", map", copy.map, ", ", copy.counter, ", ", copy.x, ", ", copy.y);
      for (const Expression& plane : copy.planes) say(", ", plane);
      say(")");
      return end();
    }
    say(copy.blocks > 0 ? "share_box<" : "copy_box<", copy.box_columns, ", ", copy.box_rows, ", ", copy.pitch);
    if (copy.blocks > 0) say(", ", static_cast<std::int64_t>(copy.blocks));
    say(">(", copy.place, ", map", copy.map, ", ", copy.counter, ", ", copy.pointer, ", ", copy.x, ", ", copy.y, ", ", copy.columns, ", ",
        copy.rows, ", ", copy.stride);
    for (const Expression& plane : copy.planes) say(", ", plane);
    say(")");
    end();
  }
  void operator()(const StoreBox& store) {
    begin();
    if (store.inside) say("store_inside(", store.place, ", map", store.map, ", ", store.x, ", ", store.y);
    else
      say("store_box<", store.box_columns, ", ", store.box_rows, ", ", store.pitch, ">(", store.place, ", map", store.map, ", ",
          store.pointer, ", ", store.x, ", ", store.y, ", ", store.columns, ", ", store.rows, ", ", store.stride);
    for (const Expression& plane : store.planes) say(", ", plane);
    say(")");
    end();
  }
  void operator()(const CloseStores&) { line("close_stores()"); }
  void operator()(const AwaitStores& wait) { line("await_stores<", wait.unfinished, ">()"); }
  void operator()(const AwaitBytes& wait) { line("await_bytes(", wait.counter, ", ", wait.parity, ")"); }
  void operator()(const WaitForCopies& wait) { line("wait_for_copies<", wait.unfinished, ">()"); }

  // ---- Across threads.
  void operator()(const Combine& combine) {
    const char* const names[] = {"combine_columns<", "combine_rows<", "combine_rows_alike<", "combine_rows_for_first<"};
    const bool columns = combine.how == Combine::How::Columns, for_first = combine.how == Combine::How::RowsForFirst;
    begin();
    say(names[static_cast<std::size_t>(combine.how)], combine.operation, ", ", combine.row_threads, ", ", combine.column_threads);
    if (columns) say(", ", combine.cluster);
    say(", ", combine.held);
    if (columns) say(", ", truth(combine.again));
    if (combine.at_once > 0) say(", ", combine.at_once);
    say(">(");
    if (for_first) memory_of(combine), say(", "), list(combine.registers);
    else list(combine.registers), say(", "), memory_of(combine);
    if (combine.counter) say(", shared + parts + ", *combine.counter);
    say(")");
    end();
  }
  void memory_of(const Combine& combine) {
    switch (combine.place) {
      case Combine::Place::None: return say("nullptr");
      case Combine::Place::Scratch: return say("shared");
      case Combine::Place::Ring: return say("ring");
      case Combine::Place::Parts: break;
    }
    say("shared + parts");
    if (combine.offset > 0) say(" + ", combine.offset);
  }
  void operator()(const SendWide& send) { line("send_wide<", send.count, ">(", send.place, ", ", send.block, ", ", send.source, ")"); }
  void operator()(const BeginExchange& exchange) { line("begin_exchange(shared + parts + ", exchange.counter, ")"); }
  void operator()(const Scan& scan) {
    line("const ", computed(scan.operation.dtype), "* const ", scan.name, " = scan_shared<", scan.operation, ">(tile, tile + ", scan.count,
         ", ", scan.count, ", ", scan.length, ", ", scan.stride, ")");
  }
  void operator()(const Sort& sort) {
    line("const int* const ", sort.name, " = sort_shared(tile, order, order + ", sort.count, ", ", sort.count, ", ", sort.length, ", ",
         sort.stride, ", ", truth(sort.descending), ")");
  }

  void operator()(const Shuffle& one) { line(one.target, " = exchanged(", one.source, ", ", one.distance, ")"); }

  // ---- Tensor cores.
  void operator()(const ReadMatrices& read) { line("read_matrices<", truth(read.by_terms), ">(", read.place, ", ", read.target, ")"); }
  void operator()(const WriteMatrices& write) { line("write_matrices(", write.place, ", ", write.source, ")"); }
  void operator()(const PackFragment& pack) { line("narrow_wide(", pack.source, ", ", pack.target, ")"); }
  void operator()(const MultiplyFragments& product) {
    begin();
    say("multiply(", product.upper, ", ", product.lower, ", ", product.left, ", ", product.right);
    if (product.second > 0) say(" + ", product.second);
    say(")");
    end();
  }

  void operator()(const MultiplyTile& product) {
    begin();
    say(group_product_name(product), "(", product.upper, ", ", product.lower, ", ");
    if (product.registers) say(*product.registers);
    else side(product.left);
    say(", "), side(product.right), say(")");
    end();
  }
  void side(const MultiplyTile::Side& one) { say("tile_at<", one.pitch, ", ", one.beside, ">(", one.place, ")"); }
  void operator()(const BeginProducts&) { line("begin_products()"); }
  void operator()(const CloseProducts&) { line("close_products()"); }
  void operator()(const AwaitProducts& wait) { line("await_products<", wait.unfinished, ">()"); }
  void operator()(const FenceTiles&) { line("fence_tiles()"); }

  // ---- Passes have put something in their place.
  void operator()(const CopyTile&) {}
  void operator()(const AwaitTile&) {}
  void operator()(const FreeTile&) {}
  void operator()(const Convert&) {}
  void operator()(const Reduced&) {}
  void operator()(const EachOfVector&) {}
  void operator()(const Touch&) {}
  void operator()(const MeetCluster&) {}
  void operator()(const UseRing&) {}
  void operator()(const OpenRing&) {}
  void operator()(const UseScratch&) {}

  std::string& out_;
  const char* origin_file_ = "";
  std::uint32_t origin_line_ = 0;
  int depth_;
  const Expression* when_ = nullptr;
  bool on_one_line_ = false;
};

}  // namespace

void put(std::string& out, const Block& block, int depth) { Printer(out, depth).block(block); }

std::string print(const Block& block, int depth) {
  std::string out;
  put(out, block, depth);
  return out;
}

}  // namespace tegula::simt
