#include "tegula/graph/structure.h"

namespace tegula::graph {

void Flat::add(const Tensor& tensor) {
  form.push_back(tensor.defined());
  if (tensor.defined()) tensors.push_back(tensor);
}

void Flat::add_list(std::size_t length) { form.push_back(length); }

}  // namespace tegula::graph
