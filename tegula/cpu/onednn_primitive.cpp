#include "tegula/cpu/onednn_primitive.h"

#include <algorithm>
#include <array>

#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using dnnl::memory;

constexpr std::size_t kMostArguments = 6;

dnnl::stream& stream() {  // CPU streams are in order and keep no state between calls of one thread
  thread_local dnnl::stream instance(onednn_engine());
  return instance;
}

memory::desc scratchpad_of(const dnnl::primitive_desc_base& description) {
  return description.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD);
}

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

/// A tensor and the layout that the primitive wants.
struct OneDnnPrimitive::Operand {
  OneDnnTensor tensor;
  memory::desc inner;
  bool moved = false;               // the layouts differ
  std::size_t offset = 0;           // of the reordered copy in the scratch
  std::size_t reorder_scratch = 0;  // offset
  dnnl::reorder::primitive_desc reorder_description;
  dnnl::reorder reorder;
};

/// What one thread count runs.
struct OneDnnPrimitive::Variant {
  int threads = 1;
  dnnl::primitive_desc_base description;
  std::vector<Operand> operands;
  std::size_t scratchpad = 0;  // offset
  std::size_t bytes = 0;
  std::once_flag once;
  dnnl::primitive primitive;

  void create() {
    primitive = dnnl::primitive(description.get());
    for (Operand& operand : operands) {
      if (operand.moved) operand.reorder = dnnl::reorder(operand.reorder_description);
    }
  }
};

/// The memory handles of one run. oneDNN allocates them, so they are kept and used again.
struct OneDnnPrimitive::Handles {
  const Variant* variant;
  std::vector<memory> user, inner, reorder_scratch;
  memory scratchpad;

  explicit Handles(const Variant& v) : variant(&v), scratchpad(scratchpad_of(v.description), onednn_engine(), nullptr) {
    for (const Operand& operand : v.operands) {
      user.emplace_back(operand.tensor.layout, onednn_engine(), nullptr);
      inner.emplace_back(operand.inner, onednn_engine(), nullptr);
      reorder_scratch.emplace_back(operand.moved ? operand.reorder_description.scratchpad_desc() : memory::desc(), onednn_engine(),
                                   nullptr);
    }
  }

  void execute(std::span<void* const> buffers, char* scratch) {
    std::array<dnnl_exec_arg_t, kMostArguments> arguments;
    std::size_t count = 0;
    for (std::size_t i = 0; i < user.size(); ++i) {
      const Operand& operand = variant->operands[i];
      user[i].set_data_handle(buffers[static_cast<std::size_t>(operand.tensor.buffer)]);
      if (operand.moved) {
        inner[i].set_data_handle(scratch + operand.offset);
        reorder_scratch[i].set_data_handle(scratch + operand.reorder_scratch);
        if (!operand.tensor.written) reorder(operand, user[i], inner[i], reorder_scratch[i]);
      }
      arguments[count++] = {operand.tensor.argument, (operand.moved ? inner : user)[i].get()};
    }
    scratchpad.set_data_handle(scratch + variant->scratchpad);
    arguments[count++] = {DNNL_ARG_SCRATCHPAD, scratchpad.get()};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(variant->primitive.get(), stream().get(), static_cast<int>(count), arguments.data()),
                            "execution failed");
    for (std::size_t i = 0; i < user.size(); ++i) {
      const Operand& operand = variant->operands[i];
      if (operand.moved && operand.tensor.written) reorder(operand, inner[i], user[i], reorder_scratch[i]);
    }
  }

  static void reorder(const Operand& operand, const memory& from, const memory& to, const memory& space) {
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}, {DNNL_ARG_SCRATCHPAD, space.get()}};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(operand.reorder.get(), stream().get(), 3, arguments), "reorder failed");
  }
};

OneDnnPrimitive::OneDnnPrimitive(std::vector<OneDnnTensor> tensors, const std::function<dnnl::primitive_desc_base()>& describe)
    : tensors_(std::move(tensors)) {
  for (int threads = 1;; threads = std::min(2 * threads, library_threads())) {
    variants_.push_back(plan(threads, describe));
    bytes_ = std::max(bytes_, variants_.back()->bytes);
    if (threads == library_threads()) break;
  }
}

OneDnnPrimitive::~OneDnnPrimitive() = default;

std::unique_ptr<OneDnnPrimitive::Variant> OneDnnPrimitive::plan(int threads,
                                                                const std::function<dnnl::primitive_desc_base()>& describe) const {
  const ThreadLimit limit(threads);
  auto variant = std::make_unique<Variant>();
  variant->threads = threads;
  variant->description = describe();
  const auto reserve = [&](std::size_t bytes) {
    const std::size_t offset = variant->bytes;
    variant->bytes += (bytes + 63) / 64 * 64;
    return offset;
  };
  for (const OneDnnTensor& tensor : tensors_) {
    Operand& operand = variant->operands.emplace_back();
    operand.tensor = tensor;
    operand.inner = variant->description.query_md(dnnl::query::exec_arg_md, tensor.argument);
    operand.moved = operand.inner != tensor.layout;
    if (!operand.moved) continue;
    operand.offset = reserve(operand.inner.get_size());
    const memory::desc &from = tensor.written ? operand.inner : tensor.layout, &to = tensor.written ? tensor.layout : operand.inner;
    operand.reorder_description = dnnl::reorder::primitive_desc(onednn_engine(), from, onednn_engine(), to, onednn_attributes());
    operand.reorder_scratch = reserve(operand.reorder_description.scratchpad_desc().get_size());
  }
  variant->scratchpad = reserve(scratchpad_of(variant->description).get_size());
  return variant;
}

std::string OneDnnPrimitive::implementation() const { return variants_.back()->description.impl_info_str(); }

int OneDnnPrimitive::run(std::span<void* const> buffers, void* scratch, int threads) const {
  Variant& variant = variant_for(threads);
  const ThreadLimit limit(variant.threads);
  std::call_once(variant.once, [&] { variant.create(); });
  std::unique_ptr<Handles> handles = take(variant);
  handles->execute(buffers, static_cast<char*>(scratch));
  give_back(std::move(handles));
  return variant.threads;
}

OneDnnPrimitive::Variant& OneDnnPrimitive::variant_for(int threads) const {
  std::size_t i = variants_.size() - 1;
  while (i > 0 && variants_[i]->threads > threads) --i;
  return *variants_[i];
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
