#pragma once
// The description of a model in its file's metadata.

#include <cstdint>
#include <string>

#include "tegula/core/text.h"
#include "tegula/io/safetensors.h"
#include "tegula/nn/state.h"

namespace tegula::models {

/// "tegula.model": the name under which a file's model is known.
inline constexpr const char* kModelKey = "tegula.model";

/// Reads the numbers of a description; each throws Error with the file's name for an entry that is missing or makes no sense.
class Description {
 public:
  Description(const io::Metadata& metadata, std::string path) : metadata_(metadata), path_(std::move(path)) {}
  double number(const std::string& key) const;
  std::int64_t whole_number(const std::string& key, double most, double least = 0) const;
  const std::string& text(const std::string& key) const;

 private:
  const io::Metadata& metadata_;
  std::string path_;
};

/// Throws Error unless a file's state has this tensor: asked before a net is made of the sizes that the file `path` names, which may be anything.
void require_tensor(std::string_view op, const StateDict& state, const std::string& name, const Shape& shape, const std::string& path);

/// The tensors of a model's file or of a checkpoint that holds one; a checkpoint's other tensors ("optimizer/…") are left out.
StateDict model_state(const io::Safetensors& file);

}  // namespace tegula::models
