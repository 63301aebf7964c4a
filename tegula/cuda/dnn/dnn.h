#pragma once
// cuDNN's backend interface: opened at the first call that needs it, one handle per card, descriptors as values.

#include <cudnn_graph.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tegula/core/shape.h"
#include "tegula/cuda/compiler/shared_library.h"
#include "tegula/cuda/driver/context.h"

namespace tegula::gpu {

class DnnDescriptor;

constexpr const char* kDnn = "cuDNN";

struct Dnn {
  cudnnHandle_t handle = nullptr;
  std::string version;  // "91900"
  std::string section;  // of the tuning file: "NVIDIA H200, cuDNN 91900"
  mutable std::mutex mutex;  // a handle serves one thread at a time

  decltype(&cudnnBackendCreateDescriptor) create;
  decltype(&cudnnBackendDestroyDescriptor) destroy;
  decltype(&cudnnBackendSetAttribute) set;
  decltype(&cudnnBackendGetAttribute) get;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnGetLastErrorString) last_error;

  explicit Dnn(Context& context);
  /// Throws Error("cudnn: got cuDNN …") unless the call succeeded.
  void check(cudnnStatus_t status, const char* what) const;
  /// Makes later work of the handle go onto Context::stream(). The caller holds `mutex`.
  void follow() const;

 private:
  const Context& context_;
  mutable CUstream stream_ = nullptr;  // the stream that the handle uses now
};

/// The one of this card; null where there is none, which is told once. Makes the context current, and notes the version (brought_code.h).
const Dnn* dnn_if_there(Context& context);
/// The same. Throws Error where there is none.
const Dnn& dnn(Context& context);

/// A backend descriptor: attributes are set, then it is finalised and stays as it is.
class DnnDescriptor {
 public:
  DnnDescriptor(const Dnn& dnn, cudnnBackendDescriptorType_t type);
  DnnDescriptor(DnnDescriptor&& other) noexcept;
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept;
  ~DnnDescriptor();

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const Dims& values) { set(name, CUDNN_TYPE_INT64, values.rank(), values.begin()); }
  void set(cudnnBackendAttributeName_t name, const DnnDescriptor& other) { set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.raw_); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void finalize();

  /// How many values there are, at most `most` of them written to `values`.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most, void* values) const;
  std::int64_t get(cudnnBackendAttributeName_t name) const;
  /// Descriptors that the library fills in.
  std::vector<DnnDescriptor> get_all(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type, std::int64_t most) const;

  cudnnBackendDescriptor_t raw() const { return raw_; }

 private:
  const Dnn* dnn_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace tegula::gpu
