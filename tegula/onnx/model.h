#pragma once
// Models in ONNX files: loaded, called, compiled, trained further, saved.

#include <memory>
#include <string>
#include <vector>

#include "tegula/nn/module.h"
#include "tegula/onnx/value.h"

namespace tegula::onnx {

class Folded;

/// A model of a file. Its float initializers with at least one axis are parameters under their names, the statistics of batch normalisations buffers: parameters(),
/// save() and load() know them. A float of rank 0 is a constant of the file, and so is a tensor that sizes and axes are read from.
class Model {
 public:
  explicit Model(File file);

  /// The first result of a model with one input. Throws Error for a tensor of another dtype or other sizes than the file says, and what its operators throw, at
  /// the line of the node ("model.onnx, node Conv_12").
  Tensor operator()(const Tensor& x) const;
  /// All results, of all inputs, in the file's order.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  /// The same where an input or result is a sequence or an optional.
  std::vector<Value> run(std::vector<Value> inputs) const;

  /// Names, types and sizes (-1: any) as the file gives them.
  const std::vector<ValueType>& inputs() const { return inputs_; }
  const std::vector<ValueType>& outputs() const { return file_->graph.outputs; }
  const std::string& path() const { return file_->path; }

  void visit(nn::Visitor& visitor, const nn::Path& path);

 private:
  struct Weight {
    std::string name;
    Variable value;
    bool is_trained = true;
  };
  /// An initializer of 4 bits.
  struct Packed {
    std::string name;
    Type type;
    Shape shape;
    HostArray bytes;
  };
  std::shared_ptr<const File> file_;
  std::vector<ValueType> inputs_;
  std::vector<Weight> weights_;
  std::vector<Packed> packed_;
  std::shared_ptr<Folded> folded_;
};

struct LoadOptions {
  /// Names of the graph whose values are the results, in place of the file's own: onnx::load(path, {.results = {"features"}}) is the net without its head. Nodes and
  /// initializers that these do not need are left out. Empty: the file's results.
  std::vector<std::string> results = {};
};
/// Reads a model. Throws Error for a damaged file, for a result that no node makes, and for operators, attributes or types that cannot be built: it lists all of them.
Model load(const std::string& path, const LoadOptions& options = {});

/// Something in a file that cannot be built.
struct Finding {
  std::string node;  // its name; empty for inputs, results and initializers
  std::string problem;  // "the operator RoiAlign"
};
/// Everything in the file that cannot be built: operators, attributes, types. Empty when load() takes it. Builds nothing.
/// Throws Error for a damaged file.
std::vector<Finding> check(const std::string& path);
std::vector<Finding> check(const File& file);

}  // namespace tegula::onnx
