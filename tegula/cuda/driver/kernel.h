#pragma once
// Tile programs on the GPU: variants by the known facts about the arguments, compiled when they are needed, and launched.

#include <cuda.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tegula/cuda/compiler/brought_code.h"
#include "tegula/cuda/compiler/kernel_index.h"
#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"
#include "tegula/simt/printed.h"

namespace tegula::gpu {

/// A kernel that is asked for. Its text is made where its code is missing.
struct AskedKernel {
  KnownKernel known;
  std::function<std::string()> text;  // without comments; may be called from any thread
};

/// A compiled variant. Lives as long as the process, like its module.
struct Function {
  Generated generated;
  std::string key;  // code_key
  Code code;
  CUfunction handle = nullptr;
  std::int64_t most_blocks = 0;  // that the card holds at a time, of Generated::stays
};

/// All machine code of one device, by the name of the kernel, which is a hash of its code: equal code is compiled once. Thread-safe. Never destroyed.
class CodeCache {
 public:
  explicit CodeCache(Context& context) : context_(context) {}
  /// Begins to compile those of `wanted` that are not there yet, together, in a few units side by side.
  void request(const std::vector<AskedKernel>& wanted);
  /// The functions of `wanted`, in order.
  std::vector<const Function*> compile(const std::vector<AskedKernel>& wanted);
  /// The functions that were requested, including functions that existed.
  const AskedCode& asked() const { return asked_; }
  void note(const Function& function) { asked_.note(function.key, function.code); }

 private:
  struct Unit {
    std::vector<KnownKernel> kernels;
    std::vector<std::function<std::string()>> texts;  // until it is compiled
    std::size_t characters = 0;
    Code cubin;
    bool is_brought = false;
    void add(const AskedKernel& kernel);
  };
  void start(const std::vector<AskedKernel>& wanted);
  void finish(const Unit& unit);
  CUmodule module_of(const Unit& unit);
  void note(const std::vector<AskedKernel>& wanted);

  Context& context_;
  AskedCode asked_;
  std::map<const std::vector<char>*, CUmodule> brought_modules_;  // by image
  std::mutex mutex_;
  std::map<std::string, Function> functions_;
  std::map<std::string, std::shared_ptr<const Unit>> begun_;  // by name, those without a function
};

class Kernel final : public runtime::Kernel {
 public:
  Kernel(Context& context, CodeCache& code, tile::Program program)
      : context_(context),
        code_(code),
        program_(std::make_shared<const tile::Program>(std::move(program))),
        prints_(simt::printed_words(*program_)) {}
  /// The queue may still come to what it prints.
  ~Kernel() override {
    if (!printing_.empty()) context_.drain();
  }
  void launch(std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) const override;
  std::string listing() const override;
  std::string listing_of(const runtime::PlannedLaunch& launch) const override;
  std::string assembly(const runtime::PlannedLaunch& launch) const override;
  std::optional<runtime::KernelFigures> figures(const runtime::PlannedLaunch& launch) const override;

 private:
  friend class Wanted;
  /// Memory in which launches leave what they print. A recorded launch has its own.
  struct Printing {
    const Kernel* kernel;
    Ref<Buffer> memory;
    simt::PrintBuffer& buffer() const { return *static_cast<simt::PrintBuffer*>(memory->data()); }
  };
  Printing& printing() const;
  static void CUDA_CB show(void* printing);
  AskedKernel asked_for(const Specialisation& variant) const;
  AskedKernel requested(const Specialisation& variant) const;
  Specialisation variant_for(std::span<const runtime::ArgumentSet> sets, bool guarded) const;
  const Function* find(const Specialisation& variant) const;
  const Function& function_for(const Specialisation& variant) const;
  Generated generate_variant(const Specialisation& variant) const;
  void show_decisions(const Specialisation& variant) const;
  const Function* remember(const Specialisation& variant, const Function* function) const;

  Context& context_;
  CodeCache& code_;
  std::shared_ptr<const tile::Program> program_;  // also of threads that make its text
  simt::PrintedWords prints_;
  mutable std::list<Printing> printing_;  // protected by Context::order
  mutable Printing* usual_ = nullptr;  // of launches that are not recorded: they come one after another
  mutable std::mutex mutex_;
  mutable std::map<Specialisation, const Function*> variants_;
  mutable std::map<Specialisation, AskedKernel> requested_;  // begun, not needed yet
};

/// Begins to compile what these launches of gpu::Kernels need.
void request(CodeCache& code, std::span<const runtime::PlannedLaunch> launches);
/// Compiles it, together.
void prepare(CodeCache& code, std::span<const runtime::PlannedLaunch> launches);

}  // namespace tegula::gpu
