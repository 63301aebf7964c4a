#include "tegula/cuda/fourier/fourier.h"

#include <cufft.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/shared_library.h"

namespace tegula::gpu {
namespace {

using runtime::Fourier;
using runtime::Spectrum;

constexpr const char* kName = "transform";

struct FourierLibrary {
  decltype(&cufftCreate) create;
  decltype(&cufftDestroy) destroy;
  decltype(&cufftSetAutoAllocation) set_auto_allocation;
  decltype(&cufftMakePlanMany64) make_plan;
  decltype(&cufftSetStream) set_stream;
  decltype(&cufftSetWorkArea) set_work_area;
  decltype(&cufftExecC2C) c2c;
  decltype(&cufftExecZ2Z) z2z;
  decltype(&cufftExecR2C) r2c;
  decltype(&cufftExecD2Z) d2z;
  decltype(&cufftExecC2R) c2r;
  decltype(&cufftExecZ2D) z2d;

  FourierLibrary() {
    const Library library(kName, {"libcufft.so.12", "libcufft.so.11", "libcufft.so"}, "install cuFFT (it is part of the CUDA toolkit)");
    const auto get = [&](auto& function, const char* symbol) {
      function = library.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
    };
    get(create, "cufftCreate");
    get(destroy, "cufftDestroy");
    get(set_auto_allocation, "cufftSetAutoAllocation");
    get(make_plan, "cufftMakePlanMany64");
    get(set_stream, "cufftSetStream");
    get(set_work_area, "cufftSetWorkArea");
    get(c2c, "cufftExecC2C");
    get(z2z, "cufftExecZ2Z");
    get(r2c, "cufftExecR2C");
    get(d2z, "cufftExecD2Z");
    get(c2r, "cufftExecC2R");
    get(z2d, "cufftExecZ2D");
  }
};

/// Null where it is missing: the host computes in its place, and plans say so.
const FourierLibrary* library() {
  static const FourierLibrary* const one =
      made_or_told([]() -> const FourierLibrary* { return new FourierLibrary; }, "the host transforms, and plans say so");
  return one;
}

void succeed(cufftResult result) {
  if (result != CUFFT_SUCCESS)
    throw Error({.op = kName, .got = "status " + std::to_string(static_cast<int>(result)) + " of cuFFT", .expected = "0"});
}

class FourierCall final : public runtime::Call {
 public:
  FourierCall(Context& context, const Fourier& d) : context_(context), d_(d), cufft_(*library()) {
    context.enter();
    succeed(cufft_.create(&plan_));
    std::vector<long long> sizes(d.sizes.begin(), d.sizes.end());
    const bool twice = d.dtype == f64;
    const cufftType type = d.spectrum == Spectrum::Complex    ? (twice ? CUFFT_Z2Z : CUFFT_C2C)
                           : d.spectrum == Spectrum::FromReal ? (twice ? CUFFT_D2Z : CUFFT_R2C)
                                                              : (twice ? CUFFT_Z2D : CUFFT_C2R);
    succeed(cufft_.set_auto_allocation(plan_, 0));
    succeed(
        cufft_.make_plan(plan_, static_cast<int>(sizes.size()), sizes.data(), nullptr, 1, 0, nullptr, 1, 0, type, d.batch, &work_bytes_));
  }
  ~FourierCall() override {
    context_.drain();  // the queue may still come to it
    cufft_.destroy(plan_);
  }

  std::size_t scratch_bytes() const override { return std::max<std::size_t>(work_bytes_, 1); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    succeed(cufft_.set_stream(plan_, reinterpret_cast<cudaStream_t>(context_.stream())));
    succeed(cufft_.set_work_area(plan_, options.scratch));
    void *const x = buffers[0], *const y = buffers[1];
    const int sign = d_.inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
    if (d_.dtype == f64) {
      auto *const from = static_cast<cufftDoubleComplex*>(x), *const to = static_cast<cufftDoubleComplex*>(y);
      if (d_.spectrum == Spectrum::Complex) succeed(cufft_.z2z(plan_, from, to, sign));
      else if (d_.spectrum == Spectrum::FromReal) succeed(cufft_.d2z(plan_, static_cast<cufftDoubleReal*>(x), to));
      else succeed(cufft_.z2d(plan_, from, static_cast<cufftDoubleReal*>(y)));
    } else {
      auto *const from = static_cast<cufftComplex*>(x), *const to = static_cast<cufftComplex*>(y);
      if (d_.spectrum == Spectrum::Complex) succeed(cufft_.c2c(plan_, from, to, sign));
      else if (d_.spectrum == Spectrum::FromReal) succeed(cufft_.r2c(plan_, static_cast<cufftReal*>(x), to));
      else succeed(cufft_.c2r(plan_, from, static_cast<cufftReal*>(y)));
    }
    context_.queued(kName);
  }

  std::string describe() const override {
    return std::string(name(d_.dtype)) + " " + std::to_string(d_.batch) + " of " + to_string(d_.sizes) + (d_.inverse ? ", inverse" : "") +
           ", by cuFFT";
  }

 private:
  Context& context_;
  Fourier d_;
  const FourierLibrary& cufft_;
  cufftHandle plan_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace

bool transforms(Context&, const Fourier& d) {
  // Several axes that become real at once would overwrite what they are computed of.
  if (d.batch == 0 || d.sizes.rank() < 1 || d.sizes.rank() > (d.spectrum == Spectrum::ToReal ? 1 : 3)) return false;
  if (d.batch * numel(d.sizes) >= std::numeric_limits<int>::max()) return false;
  return library() != nullptr;
}

std::unique_ptr<runtime::Call> make_fourier(Context& context, const Fourier& d) {
  if ((d.dtype != f32 && d.dtype != f64) || !transforms(context, d))
    throw Error({.op = kName, .got = "a transform that is not this device's", .expected = "one of its candidates"});
  return std::make_unique<FourierCall>(context, d);
}

}  // namespace tegula::gpu
