#include "tegula/cuda/driver/findings.h"

#include <iterator>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cuda/blas/blas.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/compiler/nvrtc_library.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/dnn/dnn.h"
#include "tegula/cuda/handwritten/library_kernels.h"

namespace tegula::gpu {
namespace {

/// "" where it is missing.
std::string version_here(Context& context, const std::string& library) {
  if (library == kNvrtc) return compiler_version();
  const std::scoped_lock lock(context.order);
  try {
    if (library == kBlasLt) return blas_lt(context).version;
    if (library == kDnn) return dnn(context).version;
  } catch (const Error&) { return ""; }
  return "";
}

}  // namespace

std::uint64_t CudaFindings::moment() { return next_moment(); }

runtime::Findings CudaFindings::since(std::uint64_t moment) {
  runtime::Findings out{.code = code_.asked().since(moment), .choices = {}, .versions = versions_since(moment)};
  std::vector<runtime::Findings::Code> library = asked_library_code(context_).since(moment);
  std::move(library.begin(), library.end(), std::back_inserter(out.code));
  const std::string ours = context_.name + ", ";
  for (runtime::Findings::Choice& choice : tuning_file().since(moment))
    if (choice.section.starts_with(ours)) out.choices.push_back(std::move(choice));
  if (const std::string version = out.code.empty() ? "" : compiler_version(); !version.empty()) out.versions.emplace(kNvrtc, version);
  return out;
}

void CudaFindings::take(runtime::Findings findings) {
  for (runtime::Findings::Code& code : findings.code) bring(std::move(code));
  for (const runtime::Findings::Choice& choice : findings.choices)
    if (choice.section.starts_with(context_.name + ", ")) tuning_file().bring(choice);
}

std::optional<std::string> CudaFindings::other_version(const std::string& library, const std::string& version) {
  const std::string here = version_here(context_, library);
  if (here == version || (library == kNvrtc && here.empty())) return std::nullopt;
  return here;
}

}  // namespace tegula::gpu
