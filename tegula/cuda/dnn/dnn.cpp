#include "tegula/cuda/dnn/dnn.h"

#include <array>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/brought_code.h"

namespace tegula::gpu {

Dnn::Dnn(Context& context) : context_(context) {
  const Library library("cudnn", {"libcudnn.so.9", "libcudnn.so"},
                        "install cuDNN 9 (package libcudnn9-cuda-13 or nvidia-cudnn-cu13) or add its folder to LD_LIBRARY_PATH");
  const auto find = [&](auto& function, const char* symbol) {
    function = library.function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(symbol);
  };
  find(create, "cudnnBackendCreateDescriptor");
  find(destroy, "cudnnBackendDestroyDescriptor");
  find(set, "cudnnBackendSetAttribute");
  find(get, "cudnnBackendGetAttribute");
  find(finalize, "cudnnBackendFinalize");
  find(execute, "cudnnBackendExecute");
  find(error_string, "cudnnGetErrorString");
  find(last_error, "cudnnGetLastErrorString");
  context.enter();
  check(library.function<decltype(cudnnCreate)>("cudnnCreate")(&handle), "a handle");
  find(set_stream, "cudnnSetStream");
  version = std::to_string(library.function<decltype(cudnnGetVersion)>("cudnnGetVersion")());
  section = context.name + ", " + kDnn + " " + version;
}

void Dnn::follow() const {
  const CUstream stream = context_.stream();
  if (stream == stream_) return;
  check(set_stream(handle, stream), "the stream");
  stream_ = stream;
}

void Dnn::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> message{};
  last_error(message.data(), message.size());
  std::string got = std::string("cuDNN: ") + error_string(status) + ", for " + what;
  if (message[0] != '\0') got += " (" + std::string(message.data()) + ")";
  throw Error({.op = "cudnn", .got = std::move(got)});
}

const Dnn* dnn_if_there(Context& context) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, std::unique_ptr<Dnn>>;
  const std::scoped_lock lock(*mutex);
  const auto [found, is_new] = all->try_emplace(context.index);
  std::unique_ptr<Dnn>& one = found->second;
  if (is_new)
    one = made_or_told([&] { return std::make_unique<Dnn>(context); },
                       "kernels of our own convolve, several times slower, and attention is plain ops");
  context.enter();
  if (one) note_version(kDnn, one->version);
  return one.get();
}

const Dnn& dnn(Context& context) {
  if (const Dnn* const one = dnn_if_there(context)) return *one;
  throw Error({.op = "cudnn", .got = "no cuDNN that can be used", .expected = "cuDNN 9"});
}

DnnDescriptor::DnnDescriptor(const Dnn& dnn, cudnnBackendDescriptorType_t type) : dnn_(&dnn) {
  dnn.check(dnn.create(type, &raw_), "a descriptor");
}

DnnDescriptor::DnnDescriptor(DnnDescriptor&& other) noexcept : dnn_(other.dnn_), raw_(std::exchange(other.raw_, nullptr)) {}

DnnDescriptor& DnnDescriptor::operator=(DnnDescriptor&& other) noexcept {
  std::swap(dnn_, other.dnn_);
  std::swap(raw_, other.raw_);
  return *this;
}

DnnDescriptor::~DnnDescriptor() {
  if (raw_) dnn_->destroy(raw_);
}

void DnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  const cudnnStatus_t status = dnn_->set(raw_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) dnn_->check(status, ("attribute " + std::to_string(static_cast<int>(name))).c_str());
}

void DnnDescriptor::finalize() { dnn_->check(dnn_->finalize(raw_), "a finished descriptor"); }

std::int64_t DnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most, void* values) const {
  std::int64_t count = 0;
  const cudnnStatus_t status = dnn_->get(raw_, name, type, most, &count, values);
  if (status != CUDNN_STATUS_SUCCESS) dnn_->check(status, ("reading attribute " + std::to_string(static_cast<int>(name))).c_str());
  return count;
}

std::int64_t DnnDescriptor::get(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::vector<DnnDescriptor> DnnDescriptor::get_all(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                                  std::int64_t most) const {
  std::vector<DnnDescriptor> all;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) raw.push_back(all.emplace_back(*dnn_, type).raw_);
  const std::int64_t count = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  while (static_cast<std::int64_t>(all.size()) > count) all.pop_back();
  return all;
}

}  // namespace tegula::gpu
