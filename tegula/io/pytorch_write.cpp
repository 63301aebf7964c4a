// State dicts as torch.save writes them: a pickle that makes an OrderedDict of tensors, and their elements beside it.

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/pytorch.h"
#include "tegula/io/pytorch_storages.h"

namespace tegula::io {
namespace {

[[noreturn]] void complain(const std::string& path, const std::string& got, std::string expected) {
  throw Error({.op = std::string(kPyTorchZip.op), .got = printable(path + ": " + got), .expected = std::move(expected)});
}

/// Opcodes of protocol 2.
class Pickler {
 public:
  Pickler() { text_ = "\x80\x02"; }

  void put(char code) { text_ += code; }
  void global(std::string_view module, std::string_view name) { (((text_ += 'c') += module) += '\n') += name, text_ += '\n'; }
  void text(std::string_view text) {
    text_ += 'X', raw(static_cast<std::uint32_t>(text.size()));
    text_ += text;
  }
  void number(std::int64_t n) {
    if (n == static_cast<std::int32_t>(n)) text_ += 'J', raw(static_cast<std::int32_t>(n));
    else text_ += "\x8a\x08", raw(n);
  }
  void numbers(const std::vector<std::int64_t>& some) {
    put('(');
    for (const std::int64_t n : some) number(n);
    put('t');
  }
  void ordered_dict() { global("collections", "OrderedDict"), put(')'), put('R'); }
  const std::string& bytes() const { return text_; }

 private:
  template <class T>
  void raw(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string text_;
};

void put_tensor(Pickler& out, const HostArray& array, std::size_t key, std::string_view storage) {
  std::vector<std::int64_t> sizes, strides;
  const Strides dense = dense_strides(array.shape);
  for (int axis = 0; axis < array.shape.rank(); ++axis) sizes.push_back(array.shape[axis]), strides.push_back(dense[axis]);
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.put('('), out.put('(');
  out.text("storage"), out.global("torch", storage), out.text(std::to_string(key)), out.text("cpu"), out.number(array.size());
  out.put('t'), out.put('Q');
  out.number(0), out.numbers(sizes), out.numbers(strides);
  out.put('\x89'), out.ordered_dict();  // requires no gradient, no hooks
  out.put('t'), out.put('R');
}

}  // namespace

void write_pytorch(const std::string& path, const NamedArrays& tensors) {
  std::set<std::string_view> names;
  Pickler pickle;
  pickle.ordered_dict();
  pickle.put('(');
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, array] = tensors[i];
    if (!names.insert(name).second) complain(path, "the name \"" + name + "\" twice", "a name for each tensor");
    const auto storage = std::ranges::find(kPyTorchStorages, array.dtype, &PyTorchStorage::dtype);
    if (storage == kPyTorchStorages.end())
      complain(path, name + " of dtype " + std::string(tegula::name(array.dtype)), "a dtype with a storage in PyTorch");
    pickle.text(name);
    put_tensor(pickle, array, i, storage->name);
  }
  pickle.put('u'), pickle.put('.');
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  std::vector<std::pair<std::string, std::span<const std::byte>>> members{{"archive/data.pkl", bytes_of(pickle.bytes())},
                                                                          {"archive/byteorder", bytes_of("little")}};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const HostArray& array = tensors[i].second;
    const auto* data = array.bytes() == 0 ? nullptr : static_cast<const std::byte*>(array.buffer->data());
    members.emplace_back("archive/data/" + std::to_string(i), std::span(data, array.bytes()));
  }
  members.emplace_back("archive/version", bytes_of("3\n"));
  write_atomically(path, zip_archive(members, path, kPyTorchZip), kPyTorchZip.op);
}

}  // namespace tegula::io
