#include "tegula/io/pytorch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/pickle.h"
#include "tegula/io/pytorch_storages.h"
#include "tegula/io/strided.h"

namespace tegula::io {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

constexpr int kDeepest = 64;  // dicts and lists within each other
constexpr std::size_t kLegacyMagic = 15;  // bytes of the first pickle, a number
constexpr std::string_view kRebuild = "torch._utils._rebuild_tensor", kRebuild2 = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";
/// Dicts of checkpoints that are a state dict.
constexpr std::array<std::string_view, 5> kStateDicts{"state_dict", "model_state_dict", "model", "net", "weights"};

/// The globals that a pickle may name.
std::vector<std::string_view> allowed_globals() {
  std::vector<std::string_view> out{"collections.OrderedDict", kRebuild, kRebuild2, kParameter};
  for (const PyTorchStorage& one : kPyTorchStorages) out.push_back(one.global);
  return out;
}

/// Elements that tensors are views of. A view of a storage (before 1.6) begins at `offset` of it.
struct Storage {
  DType dtype = DType::f32;
  std::string key;
  std::int64_t offset = 0, count = 0;  // elements
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes),
        file_(file),
        globals_(allowed_globals()),
        pickle_(globals_, kPyTorchZip.op, file) {
    refuse_other_kinds(bytes, {FileKind::PyTorch, FileKind::Zip}, kPyTorchZip.op, file, "a PyTorch file");
    if (bytes.size() >= 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'}) read_zip();
    else read_legacy();
  }

  NamedArrays tensors(const std::string& entry) {
    Value from = root_;
    if (!entry.empty()) from = found(entry);
    else if (const auto state = state_dict()) from = *state;
    NamedArrays out;
    walk(from, "", 0, out);
    return out;
  }

 private:
  [[noreturn]] void complain(const std::string& got, std::string expected, std::string advice = "") const {
    throw Error({.op = std::string(kPyTorchZip.op),
                 .got = printable(std::string(file_) + ": " + got),
                 .expected = std::move(expected),
                 .advice = std::move(advice)});
  }

  void read_zip() {
    zip_ = std::make_unique<ZipReader>(bytes_, file_, kPyTorchZip);
    std::optional<std::size_t> pickled;
    for (std::size_t i = 0; i < zip_->size(); ++i) {
      members_.emplace(zip_->name(i), i);
      if (zip_->name(i).ends_with("/data.pkl") && !pickled) pickled = i;
    }
    if (!pickled) complain("an archive without data.pkl", "a PyTorch file", "the file is damaged or of another kind");
    prefix_ = zip_->name(*pickled).substr(0, zip_->name(*pickled).size() - std::strlen("data.pkl"));
    if (members_.contains(prefix_ + "constants.pkl"))
      complain("a TorchScript archive", "a state dict", "in Python: torch.save(torch.jit.load(path).state_dict(), \"model.pt\")");
    if (const auto order = members_.find(prefix_ + "byteorder"); order != members_.end()) {
      const Bytes text = zip_->first(order->second, 8);
      if (std::string_view(reinterpret_cast<const char*>(text.data()), text.size()) != "little")
        complain("numbers with their highest byte first", "little-endian numbers");
    }
    const Bytes data = zip_->contents(*pickled);
    std::size_t at = 0;
    root_ = pickle_.read(data, at);
  }

  /// Pickles of a magic number, of the protocol, of the machine's sizes, of the object and of the storages' keys; then the storages.
  void read_legacy() {
    if (bytes_.size() < kLegacyMagic)
      complain("a file of " + std::to_string(bytes_.size()) + " bytes", "a PyTorch file", "the file is truncated");
    std::size_t at = kLegacyMagic;
    pickle_.read(bytes_, at);
    const Value system = pickle_.read(bytes_, at);
    if (system.kind == Kind::Dict) {
      const auto items = pickle_.items(system);
      for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        if (items[i].kind == Kind::Text && pickle_.text(items[i]) == "little_endian" && items[i + 1].number == 0)
          complain("numbers with their highest byte first", "little-endian numbers");
      }
    }
    root_ = pickle_.read(bytes_, at);
    const Value keys = pickle_.read(bytes_, at);
    if (keys.kind != Kind::List) complain("no list of storages", "one behind the object", "the file is damaged");
    collect_storages(root_);
    for (const Value key : pickle_.items(keys)) {
      const auto dtype = key.kind == Kind::Text ? legacy_dtypes_.find(std::string(pickle_.text(key))) : legacy_dtypes_.end();
      if (dtype == legacy_dtypes_.end())
        complain("a storage of which no tensor tells the dtype", "storages of the tensors", "the file is damaged");
      std::int64_t count = 0;
      if (bytes_.size() - at < sizeof count)
        complain("storages that end at byte " + std::to_string(bytes_.size()), "all of them", "the file is truncated");
      std::memcpy(&count, bytes_.data() + at, sizeof count);
      at += sizeof count;
      const std::size_t left = (bytes_.size() - at) / size_of(dtype->second);
      if (count < 0 || static_cast<std::uint64_t>(count) > left)
        complain("a storage of " + std::to_string(count) + " elements at byte " + std::to_string(at), "storages that lie in the file",
                 "the file is truncated");
      legacy_[dtype->first] = {at, count};
      at += static_cast<std::size_t>(count) * size_of(dtype->second);
    }
  }

  /// Every value of the pickle is looked at once: what refers to others was made after them, or is a list that names them.
  void collect_storages(Value from) {
    std::vector<Value> open{from};
    std::map<std::int64_t, bool> seen;
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      if (value.kind < Kind::List || !seen.emplace(value.number, true).second) continue;
      if (value.kind == Kind::Persistent) {
        const Storage storage = storage_of(value);
        const auto [known, is_new] = legacy_dtypes_.emplace(storage.key, storage.dtype);
        if (!is_new && known->second != storage.dtype) complain("storage " + storage.key + " of two dtypes", "one", "the file is damaged");
        continue;
      }
      for (const Value inner : pickle_.items(value)) open.push_back(inner);
    }
  }

  /// ("storage", class, key, device, elements[, (key of the view, offset, elements)]).
  Storage storage_of(Value persistent) const {
    const auto bad = [&]() {
      complain("a storage's id of another form", "(\"storage\", class, key, device, elements)", "the file is damaged");
    };
    if (persistent.kind != Kind::Persistent || pickle_.items(persistent)[0].kind != Kind::Tuple) bad();
    const auto id = pickle_.items(pickle_.items(persistent)[0]);
    if (id.size() < 5 || id[0].kind != Kind::Text || pickle_.text(id[0]) != "storage" || id[1].kind != Kind::Global ||
        id[2].kind != Kind::Text || id[4].kind != Kind::Int || id[4].number < 0)
      bad();
    Storage out{.key = std::string(pickle_.text(id[2])), .count = id[4].number};
    const auto known = std::ranges::find(kPyTorchStorages, pickle_.text(id[1]), &PyTorchStorage::global);
    if (known == kPyTorchStorages.end()) bad();
    out.dtype = known->dtype;
    if (id.size() > 5 && id[5].kind == Kind::Tuple) {
      const auto view = pickle_.items(id[5]);
      if (view.size() != 3 || view[1].kind != Kind::Int || view[2].kind != Kind::Int || view[1].number < 0 || view[2].number < 0) bad();
      out.offset = view[1].number, out.count = view[2].number;
    }
    return out;
  }

  /// All of a storage, read once.
  const HostArray& elements(const Storage& storage, const std::string& tensor) {
    const auto [at, is_new] = loaded_.try_emplace(storage.key);
    HostArray& out = at->second;
    if (!is_new) {
      if (out.dtype != storage.dtype) complain("storage " + storage.key + " of two dtypes", "one", "the file is damaged");
      return out;
    }
    if (zip_) {
      const auto member = members_.find(prefix_ + "data/" + storage.key);
      if (member == members_.end()) complain(tensor + ": no storage " + storage.key, "one in the archive", "the file is damaged");
      const std::size_t bytes = zip_->bytes(member->second);
      if (bytes % size_of(storage.dtype) != 0)
        complain(tensor + ": a storage of " + std::to_string(bytes) + " bytes", "whole elements", "the file is damaged");
      out = HostArray::empty(storage.dtype, {static_cast<std::int64_t>(bytes / size_of(storage.dtype))});
      zip_->read(member->second, {static_cast<std::byte*>(out.buffer->data()), bytes});
    } else {
      const auto found = legacy_.find(storage.key);
      if (found == legacy_.end()) complain(tensor + ": no storage " + storage.key, "one in the file", "the file is damaged");
      out = HostArray::empty(storage.dtype, {found->second.count});
      if (out.bytes() > 0) std::memcpy(out.buffer->data(), bytes_.data() + found->second.at, out.bytes());
    }
    if (out.dtype == DType::boolean)
      for (auto& byte : std::span(static_cast<std::uint8_t*>(out.buffer->data()), out.bytes())) byte = byte != 0;
    return out;
  }

  std::vector<std::int64_t> naturals(Value tuple, const std::string& tensor) const {
    if (tuple.kind != Kind::Tuple && tuple.kind != Kind::List)
      complain(tensor + ": sizes that are no tuple", "a tuple of numbers", "the file is damaged");
    std::vector<std::int64_t> out;
    for (const Value one : pickle_.items(tuple)) {
      if (one.kind != Kind::Int || one.number < 0)
        complain(tensor + ": a size or stride that is no natural number", "natural numbers", "the file is damaged");
      out.push_back(one.number);
    }
    if (out.size() > static_cast<std::size_t>(kMaxRank))
      complain(tensor + ": " + std::to_string(out.size()) + " axes", "at most " + std::to_string(kMaxRank));
    return out;
  }

  /// (storage, offset, sizes, strides, …).
  HostArray tensor(std::span<const Value> arguments, const std::string& name) {
    if (arguments.size() < 4 || arguments[1].kind != Kind::Int || arguments[1].number < 0)
      complain(name + ": a tensor of another form", "(storage, offset, sizes, strides)", "the file is damaged");
    const Storage storage = storage_of(arguments[0]);
    const std::vector<std::int64_t> sizes = naturals(arguments[2], name), strides = naturals(arguments[3], name);
    if (sizes.size() != strides.size())
      complain(name + ": sizes and strides of other counts", "a stride for each axis", "the file is damaged");
    Shape shape;
    for (const std::int64_t size : sizes) shape.push_back(size);
    const HostArray& all = elements(storage, name);
    // The last element, step by step, so that nothing overflows.
    const auto inside = [&](std::int64_t from, std::int64_t count) {
      const std::int64_t whole = all.size();
      if (from > whole || count > whole - from) return false;
      const std::int64_t begin = arguments[1].number;
      if (std::ranges::find(sizes, 0) != sizes.end()) return begin <= count;
      if (begin >= count) return false;
      std::int64_t left = count - 1 - begin;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 1 || strides[i] == 0) continue;
        if (sizes[i] - 1 > left / strides[i]) return false;
        left -= (sizes[i] - 1) * strides[i];
      }
      return true;
    };
    if (!inside(storage.offset, storage.count))
      complain(name + ": a tensor of shape " + to_string(shape) + " outside of its storage of " +
                   std::to_string(std::min(storage.count, all.size())) + " elements",
               "one that lies inside", "the file is damaged");
    const std::int64_t first = storage.offset + arguments[1].number;
    if (first == 0 && is_all_of(all.size(), sizes, strides)) return {storage.dtype, shape, all.buffer};
    return copied(all, first, shape, strides, name);
  }

  /// True if `count` dense elements are all of the tensor's.
  static bool is_all_of(std::int64_t count, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
    std::int64_t step = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (sizes[i] == 0) return count == 0;
      if (sizes[i] == 1) continue;
      if (strides[i] != step || sizes[i] > count / step) return false;
      step *= sizes[i];
    }
    return step == count;
  }

  /// Views may be larger than their storage, and many: all copies together are bounded by the file.
  HostArray copied(const HostArray& all, std::int64_t first, const Shape& shape, const std::vector<std::int64_t>& strides,
                   const std::string& name) {
    double bytes = static_cast<double>(size_of(all.dtype));
    for (const std::int64_t size : shape) bytes *= static_cast<double>(size);
    copied_ += bytes;
    if (copied_ > kMostCopies * static_cast<double>(bytes_.size()) + (1 << 20))
      complain(name + ": views of " + number_text(bytes) + " bytes",
               "views of less than " + std::to_string(kMostCopies) + " times the file's bytes");
    return strided_copy(all, first, shape, strides);
  }

  bool is_tensor(Value value) const {
    return value.kind == Kind::Call &&
           std::ranges::find(kPyTorchStorages, pickle_.text(pickle_.items(value)[0]), &PyTorchStorage::global) == kPyTorchStorages.end();
  }

  void walk(Value value, const std::string& name, int depth, NamedArrays& out) {
    if (depth > kDeepest) complain("values more than " + std::to_string(kDeepest) + " deep", "dicts of tensors");
    const auto below = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
    if (is_tensor(value)) {
      const auto call = pickle_.items(value);
      const auto arguments = pickle_.items(call[1]);
      if (pickle_.text(call[0]) != kParameter) out.emplace_back(name.empty() ? "tensor" : name, tensor(arguments, name));
      else if (!arguments.empty() && is_tensor(arguments[0])) walk(arguments[0], name, depth + 1, out);
      else complain(name + ": a parameter without its tensor", "one", "the file is damaged");
      if (out.size() > bytes_.size()) complain("more tensors than bytes", "a file of tensors");
      return;
    }
    if (value.kind == Kind::Dict) {
      const auto items = pickle_.items(value);
      for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        if (++steps_ > bytes_.size()) complain("dicts within each other that have more entries than the file bytes", "dicts of tensors");
        walk(items[i + 1], below(key_text(items[i])), depth + 1, out);
      }
    } else if (value.kind == Kind::List || value.kind == Kind::Tuple) {
      const auto items = pickle_.items(value);
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (++steps_ > bytes_.size()) complain("lists within each other that have more entries than the file bytes", "dicts of tensors");
        walk(items[i], below(std::to_string(i)), depth + 1, out);
      }
    }
  }

  std::string key_text(Value key) const {
    if (key.kind == Kind::Text) return std::string(pickle_.text(key));
    if (key.kind == Kind::Int) return std::to_string(key.number);
    complain("a dict with keys that are neither texts nor whole numbers", "names of tensors");
  }

  std::optional<Value> at(Value dict, std::string_view key) const {
    if (dict.kind != Kind::Dict) return std::nullopt;
    const auto items = pickle_.items(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const bool has_name = items[i].kind == Kind::Text || items[i].kind == Kind::Int;
      if (has_name && key_text(items[i]) == key) return items[i + 1];
    }
    return std::nullopt;
  }

  std::optional<Value> state_dict() const {
    if (root_.kind != Kind::Dict) return std::nullopt;
    const auto items = pickle_.items(root_);
    for (std::size_t i = 1; i < items.size(); i += 2) {
      if (is_tensor(items[i])) return std::nullopt;
    }
    for (const std::string_view name : kStateDicts) {
      if (const auto state = at(root_, name); state && state->kind == Kind::Dict) return state;
    }
    return std::nullopt;
  }

  /// Keys have dots themselves: the longest that fits goes first.
  Value found(const std::string& entry) const {
    Value value = root_;
    for (std::size_t begin = 0; begin < entry.size();) {
      std::size_t end = entry.size();
      std::optional<Value> next;
      for (; end != std::string::npos && end > begin; end = entry.rfind('.', end - 1)) {
        next = at(value, std::string_view(entry).substr(begin, end - begin));
        if (next || end == 0) break;
      }
      if (!next) complain("no entry \"" + entry + "\"", "one of " + keys_of(value));
      value = *next, begin = end + 1;
    }
    return value;
  }
  std::string keys_of(Value value) const {
    std::string out;
    if (value.kind != Kind::Dict) return "a dict";
    const auto items = pickle_.items(value);
    for (std::size_t i = 0; i < items.size() && i < 40; i += 2) {
      if (items[i].kind == Kind::Text) out += (out.empty() ? "" : ", ") + std::string(pickle_.text(items[i]));
    }
    return out.empty() ? "nothing, it is empty" : out;
  }

  struct Place {
    std::size_t at = 0;  // byte
    std::int64_t count = 0;
  };
  static constexpr int kMostCopies = 16;

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::vector<std::string_view> globals_;
  Pickle pickle_;
  Value root_;
  std::unique_ptr<ZipReader> zip_;
  std::map<std::string, std::size_t, std::less<>> members_;
  std::string prefix_;  // "archive/"
  std::map<std::string, DType, std::less<>> legacy_dtypes_;  // by key
  std::map<std::string, Place, std::less<>> legacy_;
  std::map<std::string, HostArray, std::less<>> loaded_;  // storages
  double copied_ = 0;  // bytes of views
  std::size_t steps_ = 0;
};

}  // namespace

NamedArrays parse_pytorch(std::span<const std::byte> bytes, std::string_view name, const std::string& entry) {
  return Reader(bytes, name).tensors(entry);
}

NamedArrays read_pytorch(const std::string& path, const std::string& entry) {
  return parse_pytorch(read_file(path, {.op = kPyTorchZip.op, .limit = std::size_t{1} << 36}), path, entry);
}

}  // namespace tegula::io
