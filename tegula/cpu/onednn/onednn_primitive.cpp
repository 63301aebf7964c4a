#include "tegula/cpu/onednn/onednn_primitive.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tegula/core/signals.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using dnnl::memory;

constexpr std::size_t kMostArguments = 10;

dnnl::stream& stream() {  // CPU streams are in order and keep no state between calls of one thread
  thread_local dnnl::stream instance(onednn_engine());
  return instance;
}

memory::desc scratchpad_of(const dnnl::primitive_desc_base& description) {
  return description.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD);
}

void execute(const dnnl::primitive& primitive, std::span<const dnnl_exec_arg_t> arguments) {
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream().get(), static_cast<int>(arguments.size()), arguments.data()),
                          "execution failed");
}

/// Room in the scratch: whole cache lines, one after another.
struct Room {
  std::size_t bytes = 0;
  std::size_t take(std::size_t wanted) { return std::exchange(bytes, bytes + (wanted + 63) / 64 * 64); }
};

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::primitive_attr onednn_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A copy from one layout to another.
struct OneDnnPrimitive::Reorder {
  memory::desc from, to;
  dnnl::reorder::primitive_desc description;
  dnnl::reorder primitive;
  std::size_t scratch = 0;  // offset

  Reorder(const memory::desc& source, const memory::desc& target)
      : from(source),
        to(target),
        description(onednn_engine(), from, onednn_engine(), to, onednn_attributes()) {}
};

/// A tensor and the layout that the primitive wants.
struct OneDnnPrimitive::Operand {
  OneDnnTensor tensor;
  memory::desc inner;
  bool moved = false;             // the layouts differ
  std::size_t offset = 0;         // offset in scratch, if the primitive does not use the caller's buffer
  std::vector<Reorder> reorders;  // a batched tensor has one; a whole one has disjoint parts, which threads share

  bool whole() const { return tensor.step == 0; }
  /// Each piece writes a share of the sum.
  bool summed(int parts) const { return whole() && tensor.written && parts > 1; }
};

/// The primitive for pieces of one size.
struct OneDnnPrimitive::Piece {
  dnnl::primitive_desc_base description;
  std::vector<Operand> operands;
  std::size_t scratchpad = 0;  // offset in the part's own scratch
  dnnl::primitive primitive;
};

/// The pieces for one number of threads.
struct OneDnnPrimitive::Variant {
  int parts = 1;
  std::int64_t units = 0;
  std::vector<Piece> pieces;    // the larger one first
  std::vector<Operand*> whole;  // moved ones of the first piece, which stand for those of all
  std::size_t shared = 0, own = 0;  // bytes of scratch: before the parts', and of each part
  std::once_flag once;

  std::size_t bytes() const { return shared + own * static_cast<std::size_t>(parts); }
  Range range(int part) const { return share(units, part, parts); }
  const Piece& piece(int part) const {
    const Range r = range(part);
    return pieces[r.end - r.begin == (units + parts - 1) / parts ? 0 : 1];
  }
  char* own_scratch(char* scratch, int part) const { return scratch + shared + own * static_cast<std::size_t>(part); }

  void create() {
    for (Piece& piece : pieces) {
      piece.primitive = dnnl::primitive(piece.description.get());
      for (Operand& operand : piece.operands) {
        for (Reorder& reorder : operand.reorders) reorder.primitive = dnnl::reorder(reorder.description);
      }
    }
  }
};

/// The memory handles of one run. oneDNN allocates them, so they are kept and used again.
struct OneDnnPrimitive::Handles {
  struct Move {
    memory from, to, scratch;
    explicit Move(const Reorder& r)
        : from(r.from, onednn_engine(), nullptr),
          to(r.to, onednn_engine(), nullptr),
          scratch(r.description.scratchpad_desc(), onednn_engine(), nullptr) {}
    void run(const Reorder& reorder, void* source, void* target, char* space) {
      from.set_data_handle(source), to.set_data_handle(target), scratch.set_data_handle(space + reorder.scratch);
      const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}, {DNNL_ARG_SCRATCHPAD, scratch.get()}};
      execute(reorder.primitive, arguments);
    }
  };
  struct PieceHandles {
    std::vector<memory> inner;
    std::vector<std::vector<Move>> moves;  // by operand; batched ones only
    memory scratchpad;
  };

  const Variant* variant;
  std::vector<PieceHandles> pieces;
  std::vector<std::vector<Move>> whole;  // by whole operand

  explicit Handles(const Variant& v) : variant(&v) {
    for (int i = 0; i < v.parts; ++i) {
      const Piece& piece = v.piece(i);
      PieceHandles& handles = pieces.emplace_back(PieceHandles{{}, {}, memory(scratchpad_of(piece.description), onednn_engine(), nullptr)});
      for (const Operand& operand : piece.operands) {
        handles.inner.emplace_back(operand.inner, onednn_engine(), nullptr);
        handles.moves.push_back(operand.whole() ? std::vector<Move>() : moves_of(operand));
      }
    }
    for (const Operand* operand : v.whole) whole.push_back(moves_of(*operand));
  }
  static std::vector<Move> moves_of(const Operand& operand) { return {operand.reorders.begin(), operand.reorders.end()}; }

  /// Reorders the whole operands that are read (or were written), each thread some parts of each.
  void move_whole(bool written, std::span<void* const> buffers, char* scratch) {
    const Variant& v = *variant;
    if (std::none_of(v.whole.begin(), v.whole.end(), [&](const Operand* o) { return o->tensor.written == written; })) return;
    parallel(v.parts, [&](int part, int count) {
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const Operand& operand = *v.whole[i];
        if (operand.tensor.written != written) continue;
        void* outer = buffers[static_cast<std::size_t>(operand.tensor.buffer)];
        void* inner = (written ? v.own_scratch(scratch, 0) : scratch) + operand.offset;
        const Range mine = share(static_cast<std::int64_t>(whole[i].size()), part, count);
        for (auto r = static_cast<std::size_t>(mine.begin); r < static_cast<std::size_t>(mine.end); ++r) {
          whole[i][r].run(operand.reorders[r], written ? inner : outer, written ? outer : inner, scratch);
        }
      }
    });
  }

  /// Adds the pieces' results to the first one's, or, if that needs no reordering, into the caller's buffer.
  void add_up(std::span<void* const> buffers, char* scratch) const {
    const Variant& v = *variant;
    const auto& operands = v.pieces[0].operands;
    if (std::none_of(operands.begin(), operands.end(), [&](const Operand& o) { return o.summed(v.parts); })) return;
    parallel(v.parts, [&](int part, int count) {
      for (const Operand& operand : operands) {
        if (!operand.summed(v.parts)) continue;
        const Range mine = share(static_cast<std::int64_t>(operand.inner.get_size() / sizeof(float)), part, count);
        const auto partial = [&](int p) { return reinterpret_cast<float*>(v.own_scratch(scratch, p) + operand.offset); };
        float* to = operand.moved ? partial(0) : static_cast<float*>(buffers[static_cast<std::size_t>(operand.tensor.buffer)]);
        add_pieces(partial, mine, to);
      }
    });
  }

  template <class F>
  void add_pieces(const F& partial, Range mine, float* to) const {
    constexpr std::int64_t kBlock = 2048;  // stays in the first-level cache
    for (std::int64_t begin = mine.begin; begin < mine.end; begin += kBlock) {
      const std::int64_t end = std::min(mine.end, begin + kBlock);
      const float *first = partial(0), *second = partial(1);
      for (std::int64_t i = begin; i < end; ++i) to[i] = first[i] + second[i];
      for (int p = 2; p < variant->parts; ++p) {
        const float* next = partial(p);
        for (std::int64_t i = begin; i < end; ++i) to[i] += next[i];
      }
    }
  }

  void compute(int number, std::span<void* const> buffers, char* scratch) {
    const Variant& v = *variant;
    const Piece& piece = v.piece(number);
    PieceHandles& handles = pieces[static_cast<std::size_t>(number)];
    char* own = v.own_scratch(scratch, number);
    const std::int64_t first = v.range(number).begin;
    std::array<dnnl_exec_arg_t, kMostArguments> arguments;
    std::size_t count = 0;
    const auto outer = [&](const Operand& o) {
      return static_cast<char*>(buffers[static_cast<std::size_t>(o.tensor.buffer)]) + first * o.tensor.step;
    };
    for (std::size_t i = 0; i < piece.operands.size(); ++i) {
      const Operand& operand = piece.operands[i];
      char* inner = outer(operand);
      if (operand.moved || operand.summed(v.parts)) inner = (operand.whole() && !operand.tensor.written ? scratch : own) + operand.offset;
      if (operand.moved && !operand.whole() && !operand.tensor.written)
        handles.moves[i][0].run(operand.reorders[0], outer(operand), inner, own);
      handles.inner[i].set_data_handle(inner);
      arguments[count++] = {operand.tensor.argument, handles.inner[i].get()};
    }
    handles.scratchpad.set_data_handle(own + piece.scratchpad);
    arguments[count++] = {DNNL_ARG_SCRATCHPAD, handles.scratchpad.get()};
    execute(piece.primitive, std::span(arguments).first(count));
    for (std::size_t i = 0; i < piece.operands.size(); ++i) {
      const Operand& operand = piece.operands[i];
      if (operand.moved && !operand.whole() && operand.tensor.written)
        handles.moves[i][0].run(operand.reorders[0], own + operand.offset, outer(operand), own);
    }
  }
};

OneDnnPrimitive::OneDnnPrimitive(std::int64_t units, const std::function<OneDnnPiece(std::int64_t)>& make) {
  const OneThread alone;
  variants_.push_back(plan(units, 1, make));
  if (library_threads() > 1 && units > 1) variants_.push_back(plan(units, library_threads(), make));
  for (const auto& variant : variants_) bytes_ = std::max(bytes_, variant->bytes());
}

OneDnnPrimitive::~OneDnnPrimitive() = default;

namespace {

/// A tensor's layouts cut along their first axis where blocks of both end, into about so many parts; uncut where oneDNN cannot.
template <class Reorder>
std::vector<Reorder> cut_reorders(const memory::desc& from, const memory::desc& to, int parts) {
  const memory::dims dims = from.dims();
  for (const std::int64_t unit : {std::int64_t{16}, std::int64_t{64}}) {
    const std::int64_t blocks = dims[0] / unit;
    if (parts == 1 || dims[0] % unit != 0 || blocks < parts) continue;
    try {
      std::vector<Reorder> cut;
      for (int part = 0; part < parts; ++part) {
        const Range r = share(blocks, part, parts);
        memory::dims size = dims, offset(dims.size(), 0);
        size[0] = (r.end - r.begin) * unit, offset[0] = r.begin * unit;
        cut.emplace_back(from.submemory_desc(size, offset), to.submemory_desc(size, offset));
      }
      return cut;
    } catch (const dnnl::error&) {}
  }
  return {Reorder(from, to)};
}

}  // namespace

std::unique_ptr<OneDnnPrimitive::Variant> OneDnnPrimitive::plan(std::int64_t units, int threads,
                                                                const std::function<OneDnnPiece(std::int64_t)>& make) {
  auto variant = std::make_unique<Variant>();
  variant->parts = static_cast<int>(std::clamp<std::int64_t>(units, 1, threads));
  variant->units = units;
  const int parts = variant->parts;
  std::vector<std::int64_t> sizes{(units + parts - 1) / parts};
  if (units % parts != 0) sizes.push_back(units / parts);
  Room shared;
  for (const std::int64_t size : sizes) {
    OneDnnPiece made = make(size);
    Piece& piece = variant->pieces.emplace_back();
    piece.description = made.description;
    Room own;
    for (const OneDnnTensor& tensor : made.tensors) {
      Operand& operand = piece.operands.emplace_back();
      operand.tensor = tensor;
      const bool of_post_op = tensor.argument >= DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE;
      operand.inner = of_post_op ? tensor.layout : made.description.query_md(dnnl::query::exec_arg_md, tensor.argument);
      operand.moved = operand.inner != tensor.layout;
      const bool first = variant->pieces.size() == 1;
      if (operand.whole() && !first) {
        const Operand& same = variant->pieces[0].operands[piece.operands.size() - 1];
        // The two sizes want different layouts of a shared tensor: they run one after another, then.
        if (same.inner != operand.inner) return plan(units, 1, make);
        operand.offset = same.offset;
        if (operand.tensor.written) own.bytes = std::max(own.bytes, same.offset + (operand.inner.get_size() + 63) / 64 * 64);
        continue;
      }
      if (!operand.moved && !operand.summed(parts)) continue;
      operand.offset = (operand.whole() && !tensor.written ? shared : own).take(operand.inner.get_size());
      if (!operand.moved) continue;
      const memory::desc &from = tensor.written ? operand.inner : tensor.layout, &to = tensor.written ? tensor.layout : operand.inner;
      if (operand.whole()) operand.reorders = cut_reorders<Reorder>(from, to, parts);
      else operand.reorders.emplace_back(from, to);
      for (Reorder& reorder : operand.reorders) {
        reorder.scratch = (operand.whole() ? shared : own).take(reorder.description.scratchpad_desc().get_size());
      }
    }
    piece.scratchpad = own.take(scratchpad_of(piece.description).get_size());
    variant->own = std::max(variant->own, own.bytes);
  }
  for (Operand& operand : variant->pieces[0].operands) {
    if (operand.whole() && operand.moved) variant->whole.push_back(&operand);
  }
  variant->shared = shared.bytes;
  return variant;
}

std::string OneDnnPrimitive::implementation() const { return variants_.back()->pieces[0].description.impl_info_str(); }

bool OneDnnPrimitive::has(std::string_view implementation) const {
  for (const auto& variant : variants_) {
    for (const Piece& piece : variant->pieces) {
      if (std::string_view(piece.description.impl_info_str()).starts_with(implementation)) return true;
    }
  }
  return false;
}

memory::desc OneDnnPrimitive::layout_for_all(int argument) const {
  return variants_.front()->pieces.front().description.query_md(dnnl::query::exec_arg_md, argument);
}

void OneDnnPrimitive::run(std::span<void* const> buffers, void* scratch, int threads, const After& after) const {
  const OneThread alone;
  const HeldSignals held;
  Variant& variant = *variants_[threads >= variants_.back()->parts ? variants_.size() - 1 : 0];
  std::call_once(variant.once, [&] { variant.create(); });
  std::unique_ptr<Handles> handles = take(variant);
  char* const space = static_cast<char*>(scratch);
  handles->move_whole(false, buffers, space);
  parallel(variant.parts, [&](int part, int) {
    handles->compute(part, buffers, space);
    if (after) after(variant.range(part).begin, variant.range(part).end);
  });
  handles->add_up(buffers, space);
  handles->move_whole(true, buffers, space);
  give_back(std::move(handles));
}

std::unique_ptr<OneDnnPrimitive::Handles> OneDnnPrimitive::take(const Variant& variant) const {
  {
    const std::scoped_lock lock(mutex_);
    for (auto& kept : free_) {
      if (kept->variant != &variant) continue;
      std::swap(kept, free_.back());
      auto handles = std::move(free_.back());
      free_.pop_back();
      return handles;
    }
  }
  return std::make_unique<Handles>(variant);
}

void OneDnnPrimitive::give_back(std::unique_ptr<Handles> handles) const {
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(handles));
}

}  // namespace tegula::host
