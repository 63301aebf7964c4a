#include "tegula/io/keras/variables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/hdf5/hdf5.h"
#include "tegula/io/keras/keras.h"
#include "tegula/io/tensorflow/checkpoint.h"
#include "tegula/io/wire.h"
#include "tegula/io/zip_archive.h"

namespace tegula::io::keras {
namespace {

constexpr ZipUser kKerasZip{.op = "keras", .kind = "a Keras file", .advice = "model.save(\"net.h5\") needs nothing"};

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) out.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// The name without TensorFlow's number of an output: "kernel:0" is "kernel".
std::string without_output(std::string name) {
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos && name.find_first_not_of("0123456789", colon + 1) == std::string::npos) name.resize(colon);
  return name;
}

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The state of a dropout's random numbers.
bool is_seed(const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [](const std::string& part) { return part.starts_with("seed_generator"); });
}

/// A list of texts in one attribute, or in several with numbers behind their name, as Keras writes long ones.
std::vector<std::string> listed(const Hdf5Object& object, const std::string& name) {
  std::vector<std::string> out;
  if (const auto whole = object.texts.find(name); whole != object.texts.end()) return whole->second;
  for (int i = 0;; ++i) {
    const auto part = object.texts.find(name + std::to_string(i));
    if (part == object.texts.end()) return out;
    out.insert(out.end(), part->second.begin(), part->second.end());
  }
}

/// model.save("net.h5"), and save_weights of Keras 2: a group for each layer, in it the variables under their full names.
void add_named(const std::vector<Hdf5Object>& objects, const std::string& root, Stored& out) {
  std::map<std::string, std::size_t> order;  // of layers, and of their variables
  for (const Hdf5Object& object : objects) {
    if (object.path == root)
      for (const std::string& layer : listed(object, "layer_names")) order.emplace(layer, order.size());
  }
  std::map<std::string, std::size_t> within;
  const auto below = [&](const Hdf5Object& object) {
    return root.empty() ? object.path : object.path.size() > root.size() ? object.path.substr(root.size() + 1) : "";
  };
  for (const Hdf5Object& object : objects) {
    for (const std::string& weight : listed(object, "weight_names")) within.emplace(object.path + "/" + weight, within.size());
  }
  std::vector<const Hdf5Object*> arrays;
  for (const Hdf5Object& object : objects)
    if (object.is_array && object.array.buffer && (root.empty() || object.path.starts_with(root + "/"))) arrays.push_back(&object);
  const auto place = [&](const Hdf5Object* object) {
    const std::string path = below(*object);
    const auto layer = order.find(path.substr(0, path.find('/')));
    const auto weight = within.find(object->path);
    return std::pair(layer == order.end() ? order.size() : layer->second, weight == within.end() ? within.size() : weight->second);
  };
  std::ranges::stable_sort(arrays, {}, place);
  for (const Hdf5Object* object : arrays) {
    std::vector<std::string> parts = split(below(*object));
    if (parts.empty() || parts.front() == "optimizer_weights" || is_seed(parts)) continue;
    Variable variable{.layers = {}, .name = without_output(parts.back()), .path = object->path, .array = object->array};
    parts.pop_back();
    // The layer's name comes again within the full names, behind that of the model.
    if (parts.size() > 1) {
      const auto again = std::find(parts.rbegin(), parts.rend() - 1, parts.front());
      if (again != parts.rend() - 1) parts.erase(parts.begin(), std::prev(again.base()));
    }
    if (!parts.empty() && parts.front() == "top_level_model_weights") parts.erase(parts.begin());
    variable.layers = std::move(parts);
    out.variables.push_back(std::move(variable));
  }
}

/// .weights.h5: "layers/conv2d_1/vars/0". Newer files name the layer in an attribute.
void add_numbered(const std::vector<Hdf5Object>& objects, Stored& out) {
  out.numbered = true;
  std::map<std::string, std::string> names;  // by group
  for (const Hdf5Object& object : objects) {
    const auto name = object.texts.find("name");
    if (object.path.ends_with("/vars") && name != object.texts.end() && !name->second.empty())
      names.emplace(object.path.substr(0, object.path.size() - 5), name->second[0]);
  }
  for (const Hdf5Object& object : objects) {
    if (!object.is_array || !object.array.buffer) continue;
    const std::vector<std::string> parts = split(object.path);
    if (parts.size() < 2 || parts[parts.size() - 2] != "vars" || parts.front() == "optimizer" || is_seed(parts)) continue;
    Variable variable{.layers = {}, .name = parts.back(), .path = object.path, .array = object.array};
    std::string group;
    for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
      group += (i ? "/" : "") + parts[i];
      if (parts[i] == "layers" || parts[i] == "_layer_checkpoint_dependencies") continue;
      const auto name = names.find(group);
      // Both: the class is in the group's name, and the layer's own stands behind it.
      variable.layers.push_back(parts[i] + (name == names.end() ? "" : "=" + name->second));
    }
    out.variables.push_back(std::move(variable));
  }
}

void add_hdf5(const std::vector<Hdf5Object>& objects, std::string_view name, Stored& out) {
  const auto has = [&](std::string_view path) { return std::ranges::any_of(objects, [&](const auto& o) { return o.path == path; }); };
  if (const auto config = objects.front().texts.find("model_config"); config != objects.front().texts.end() && !config->second.empty())
    out.config = parse_json(config->second[0], "keras", name);
  const bool is_numbered = std::ranges::any_of(objects, [](const auto& o) { return o.path.ends_with("/vars") && !o.is_array; });
  if (has("model_weights")) add_named(objects, "model_weights", out);
  else if (is_numbered) add_numbered(objects, out);
  else add_named(objects, "", out);
}

/// The configuration of a SavedModel of Keras 2: the JSON of its root object (saved_metadata.proto).
nlohmann::json saved_config(const std::string& folder) {
  const std::string path = folder + "/keras_metadata.pb";
  if (!is_there(path)) return nullptr;
  const Bytes bytes = read_file(path, {.op = "keras", .limit = std::size_t{1} << 30});
  const WireSource source{.op = "keras", .name = path, .expected = "the metadata of a SavedModel", .advice = "the file is damaged"};
  WireReader file(bytes, source);
  for (WireField object; file.next(object);) {
    if (object.number != 1 || object.wire != Wire::Bytes) continue;
    std::string_view place, json;
    WireReader reader(object.bytes, source);
    for (WireField field; reader.next(field);) {
      if (field.number == 3) place = text_of(field.bytes);
      if (field.number == 5) json = text_of(field.bytes);
    }
    if (place == "root") return parse_json(json, "keras", path);
  }
  return nullptr;
}

Stored read_saved(const std::string& path, Contents contents) {
  Stored out;
  if (is_folder(path)) out.config = saved_config(path);
  std::set<std::string> seen;
  for (CheckpointVariable& one : read_checkpoint(path, contents)) {
    const bool is_other = one.key.starts_with("optimizer") || one.key.starts_with("save_counter") ||
                          one.key.find("/.OPTIMIZER_SLOT/") != std::string::npos || one.key.starts_with("keras_api/metrics") ||
                          one.name.starts_with("seed_generator");
    if (is_other || (!one.array.buffer && contents == Contents::Arrays)) continue;
    std::string full = one.name;
    if (full.empty()) full = one.key.substr(0, one.key.find("/.ATTRIBUTES/"));
    if (!seen.insert(full).second) continue;  // under several lists
    std::vector<std::string> parts = split(full);
    Variable variable{.layers = {}, .name = parts.empty() ? "" : without_output(parts.back()), .path = one.key, .array = one.array};
    if (!parts.empty()) parts.pop_back();
    variable.layers = std::move(parts);
    out.variables.push_back(std::move(variable));
  }
  return out;
}

Stored parse_zip(std::span<const std::byte> bytes, std::string_view name, Contents contents) {
  const ZipReader zip(bytes, name, kKerasZip);
  std::optional<std::size_t> weights, config;
  for (std::size_t i = 0; i < zip.size(); ++i) {
    if (zip.name(i) == "model.weights.h5") weights = i;
    if (zip.name(i) == "config.json") config = i;
  }
  if (!weights)
    throw Error({.op = "keras",
                 .got = printable(std::string(name) + ": an archive without model.weights.h5"),
                 .expected = "what model.save(\"net.keras\") writes"});
  Stored out;
  if (config) out.config = parse_json(text_of(zip.contents(*config)), "keras", name);
  const Bytes inner = zip.contents(*weights);
  add_hdf5(parse_hdf5(inner, std::string(name) + "/model.weights.h5", contents), name, out);
  return out;
}

}  // namespace

Stored parse_stored(std::span<const std::byte> bytes, std::string_view name, Contents contents) {
  refuse_other_kinds(bytes, {FileKind::Hdf5, FileKind::Keras}, "keras", name, "a Keras model: .keras, .h5, or a SavedModel's folder");
  if (kind_of(bytes) == FileKind::Keras) return parse_zip(bytes, name, contents);
  Stored out;
  add_hdf5(parse_hdf5(bytes, name, contents), name, out);
  return out;
}

bool is_checkpoint(const std::string& path) { return path.ends_with(".index") || (!is_there(path) && is_there(path + ".index")); }

Stored read_stored(const std::string& path, Contents contents) {
  if (is_folder(path) || is_checkpoint(path)) return read_saved(path, contents);
  return parse_stored(read_file(path, {.op = "keras", .limit = std::size_t{1} << 36}), path, contents);
}

}  // namespace tegula::io::keras

namespace tegula::io {

bool is_keras(const std::string& path) {
  if (is_folder(path)) return is_saved_model(path);
  if (keras::is_checkpoint(path)) return true;
  if (!is_there(path)) return false;
  const FileKind kind = kind_of(beginning_of(path, "keras"));
  return kind == FileKind::Keras || kind == FileKind::Hdf5;
}

bool is_saved_model(const std::string& path) { return is_folder(path) && is_there(path + "/variables/variables.index"); }

}  // namespace tegula::io
