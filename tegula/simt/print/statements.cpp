// Statements as lines of CUDA C++.

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}
const char* truth(bool value) { return value ? "true" : "false"; }
std::string str(std::int64_t value) { return std::to_string(value); }

constexpr std::size_t kUsualLength = 6000;  // of a body, in characters

class Printer {
 public:
  explicit Printer(int depth) : depth_(depth) { out_.reserve(kUsualLength); }

  void block(const Block& block) {
    for (const Statement& statement : block) print(statement);
  }
  std::string text() && { return std::move(out_); }

 private:
  void print(const Statement& statement) {
    when_ = statement.when ? &*statement.when : nullptr;
    std::visit([this](const auto& what) { (*this)(unboxed(what)); }, statement.what);
  }

  // ---- Lines.
  void indent() { out_.append(static_cast<std::size_t>(2 * depth_), ' '); }
  /// Begins a statement's line, with its condition.
  void begin() {
    if (!on_one_line_) indent();
    if (when_ != nullptr) out_ += "if (", put(out_, *when_), out_ += ") ";
    when_ = nullptr;
  }
  void end() { out_ += on_one_line_ ? ";" : ";\n"; }
  void line(const std::string& text) { begin(), out_ += text, end(); }
  void open(const std::string& text) {
    indent();
    out_ += text + " {\n";
    ++depth_;
  }
  void close() {
    --depth_;
    indent();
    out_ += "}\n";
  }
  void inline_statement(const Statement& statement) {
    on_one_line_ = true;
    print(statement);
    on_one_line_ = false;
  }
  std::string in_parts(std::size_t offset) const { return "shared + parts + " + std::to_string(offset); }

  // ---- What is said to readers.
  void operator()(const Origin& origin) {
    if (origin.line == origin_) return;
    origin_ = origin.line;
    indent();
    out_ += "// " + origin_ + "\n";
  }
  void operator()(const Note& note) { indent(), out_ += "// " + note.text + "\n"; }

  // ---- Registers.
  void operator()(const Declare& one) {
    begin();
    if (one.constant && one.what.type.pointers == 0) out_ += "const ";
    out_ += name_of(one.what.type);
    out_ += one.constant && one.what.type.pointers > 0 ? " const " : " ";
    out_ += one.what.name;
    for (const std::int64_t size : one.what.sizes) out_.append("[").append(str(size)).append("]");
    if (one.value) out_ += " = ", put(out_, *one.value);
    end();
  }
  void operator()(const Assign& one) {
    begin();
    put(out_, one.target);
    out_ += one.adds ? " += " : " = ";
    put(out_, one.value);
    end();
  }
  void operator()(const Keep& keep) { line("keep_packed(" + simt::text(keep.value) + ")"); }
  void operator()(const Unused& unused) { line("(void)" + unused.name); }

  // ---- Control.
  void operator()(const Loop& loop) {
    if (loop.unroll) {
      indent();
      out_ += "#pragma unroll";
      if (*loop.unroll > 0) out_ += " ", out_ += str(*loop.unroll);
      out_ += "\n";
    }
    indent();
    out_.append("for (int ").append(loop.name).append(" = ").append(str(loop.begin)).append("; ").append(loop.name).append(" < ");
    out_.append(str(loop.end)).append("; ++").append(loop.name).append(")");
    if (loop.on_one_line) {
      out_ += " ";
      inline_statement(loop.body.front());
      out_ += "\n";
      return;
    }
    out_ += " {\n";
    ++depth_;
    block(loop.body);
    close();
  }
  void operator()(const For& loop) {
    open("for (" + name_of(loop.type) + " " + loop.name + " = " + simt::text(loop.begin) + "; " + loop.name + " < " + simt::text(loop.end) + "; " + loop.name +
         " += " + simt::text(loop.step) + ")");
    block(loop.body);
    close();
  }
  void operator()(const Branch& branch) {
    if (branch.on_one_line) {
      indent();
      out_ += "if (", put(out_, branch.when), out_ += ") ";
      inline_statement(branch.then.front());
      out_ += " else ";
      inline_statement(branch.otherwise.front());
      out_ += "\n";
      return;
    }
    open("if (" + simt::text(branch.when) + ")");
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
    }
  }
  void operator()(const AwaitLaunchAhead&) { line("await_launch_ahead()"); }

  // ---- Memory of tensors.
  void operator()(const LoadWide& load) {
    begin();
    out_ += "load_wide<" + str(load.wide) + ", " + str(load.count);
    if (load.limited) out_ += load.limited->whole ? ", true" : ", false";
    out_ += ">(", put(out_, load.pointer), out_ += ", ", put(out_, load.target);
    if (load.limited) out_ += ", ", put(out_, load.limited->limit), out_ += ", ", put(out_, load.limited->substitute);
    out_ += ")";
    end();
  }
  void operator()(const StoreWide& store) {
    begin();
    out_ += (store.rows ? "store_rows<" : "store_wide<") + str(store.wide) + ", " + str(store.count);
    if (store.limited) out_ += store.limited->whole ? ", true" : ", false";
    out_ += ">(", put(out_, store.pointer), out_ += ", ", put(out_, store.source);
    if (store.limited) out_ += ", ", put(out_, store.limited->limit);
    out_ += ")";
    end();
  }
  void operator()(const StoreOne& store) {
    begin();
    out_ += "narrow(", put(out_, cast(computed(store.computed), store.value)), out_ += ", *(", put(out_, store.pointer), out_ += "))";
    end();
  }
  void operator()(const AtomicAdd& add) {
    const Type word{.kind = Type::Kind::Unsigned, .dtype = add.dtype};
    begin();
    out_ += "atomicAdd(", put(out_, reinterpret(pointer_to(word), add.pointer)), out_ += ", ", put(out_, cast(word, add.value)), out_ += ")";
    end();
  }
  void operator()(const WriteInOrder& write) {
    line("write_in_order<" + std::string(truth(write.adds)) + ">(places, values, " + simt::text(write.count) + ", " + simt::text(write.owners) + ", " +
         simt::text(write.owner) + ")");
  }
  void operator()(const Report& report) { line_of("report(failure, " + str(report.id) + ", ", report.value); }
  void operator()(const Philox& philox) {
    line("philox_words(" + simt::text(philox.seed) + ", " + simt::text(philox.counter) + ", " + simt::text(philox.target) + ")");
  }
  void line_of(const std::string& head, const Expression& last) { begin(), out_ += head, put(out_, last), out_ += ")", end(); }

  // ---- Copies.
  void operator()(const CopyAsync& copy) { line("copy_async(" + simt::text(copy.source) + ", " + simt::text(copy.place) + ")"); }
  void operator()(const AwaitCopies&) { line("await_copies()"); }
  void operator()(const CopyAhead& copy) {
    line("copy_ahead<" + str(copy.wide) + ", " + str(copy.count) + ">(" + simt::text(copy.place) + ", " + simt::text(copy.source) + ", " +
         simt::text(copy.inside) + ")");
  }
  void operator()(const CloseCopies&) { line("close_copies()"); }
  void operator()(const WaitForCopies& wait) { line("wait_for_copies<" + str(wait.unfinished) + ">()"); }

  // ---- Across threads.
  void operator()(const Combine& combine) {
    const char* const names[] = {"combine_columns", "combine_rows", "combine_rows_alike", "combine_rows_for_first"};
    std::vector<std::string> how{name_of(combine.operation), str(combine.row_threads), str(combine.column_threads)};
    if (combine.how == Combine::How::Columns) how.push_back(str(combine.cluster));
    how.push_back(str(combine.held));
    if (combine.how == Combine::How::Columns) how.emplace_back(truth(combine.again));
    if (combine.at_once > 0) how.push_back(str(combine.at_once));
    std::vector<std::string> what;
    for (const Expression& one : combine.registers) what.push_back(simt::text(one));
    switch (combine.place) {
      case Combine::Place::None: what.emplace_back("nullptr"); break;
      case Combine::Place::Scratch: what.emplace_back("shared"); break;
      case Combine::Place::Ring: what.emplace_back("ring"); break;
      case Combine::Place::Parts: what.push_back(combine.offset > 0 ? in_parts(combine.offset) : "shared + parts"); break;
    }
    if (combine.counter) what.push_back(in_parts(*combine.counter));
    if (combine.how == Combine::How::RowsForFirst) what.insert(what.begin(), what.back()), what.pop_back();
    line(names[static_cast<std::size_t>(combine.how)] + std::string("<") + join(how) + ">(" + join(what) + ")");
  }
  void operator()(const BeginExchange& exchange) { line("begin_exchange(" + in_parts(exchange.counter) + ")"); }
  void operator()(const Scan& scan) {
    const std::string n = str(scan.count);
    line("const " + name_of(computed(scan.operation.dtype)) + "* const " + scan.name + " = scan_shared<" + name_of(scan.operation) + ">(tile, tile + " + n +
         ", " + n + ", " + str(scan.length) + ", " + str(scan.stride) + ")");
  }
  void operator()(const Sort& sort) {
    const std::string n = str(sort.count);
    line("const int* const " + sort.name + " = sort_shared(tile, order, order + " + n + ", " + n + ", " + str(sort.length) + ", " + str(sort.stride) + ", " +
         truth(sort.descending) + ")");
  }

  // ---- Passes have put something in their place.
  void operator()(const EachOfVector&) {}
  void operator()(const Touch&) {}
  void operator()(const MeetCluster&) {}
  void operator()(const UseRing&) {}
  void operator()(const OpenRing&) {}
  void operator()(const UseScratch&) {}

  std::string out_, origin_;
  int depth_;
  const Expression* when_ = nullptr;
  bool on_one_line_ = false;
};

}  // namespace

std::string print(const Block& block, int depth) {
  Printer printer(depth);
  printer.block(block);
  return std::move(printer).text();
}

}  // namespace tegula::simt
