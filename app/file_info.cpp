#include "app/file_info.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "app/own/tables.h"
#include "app/own/training.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/data/idx.h"
#include "tegula/data/image_folder.h"
#include "tegula/formats/plan_file.h"
#include "tegula/io/csv.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/gguf.h"
#include "tegula/io/gzip.h"
#include "tegula/io/hdf5/hdf5.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/keras/keras.h"
#include "tegula/io/npy.h"
#include "tegula/io/pytorch.h"
#include "tegula/io/safetensors.h"
#include "tegula/io/tensorflow/checkpoint.h"
#include "tegula/models/text/llama.h"
#include "tegula/onnx/model.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/vectors/word_vectors.h"

namespace tegula::app {
namespace {

using io::FileKind;

template <class Sizes>
std::string shape_text(const Sizes& sizes) {
  std::string text;
  for (const auto size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// The begin of a text in one line.
std::string shortened(const std::string& text, std::size_t most = 100) {
  std::string line = printable(std::string_view(text).substr(0, most));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + (text.size() > most ? "... (" + std::to_string(text.size()) + " bytes)" : "");
}

/// Rows of cells, in columns below each other.
class Rows {
 public:
  explicit Rows(std::int64_t most) : most_(static_cast<std::size_t>(most)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const {
    const std::size_t shown = std::min(rows_.size(), most_);
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < shown; ++i) {
      widths.resize(std::max(widths.size(), rows_[i].size()));
      for (std::size_t c = 0; c < rows_[i].size(); ++c) widths[c] = std::max(widths[c], rows_[i][c].size());
    }
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) {
      std::string line = " ";
      for (std::size_t c = 0; c < rows_[i].size(); ++c) {
        line += " " + rows_[i][c];
        if (c + 1 < rows_[i].size()) line.append(widths[c] - rows_[i][c].size() + 1, ' ');
      }
      out += line + "\n";
    }
    if (shown < rows_.size()) out += "  ... and " + std::to_string(rows_.size() - shown) + " more (--all)\n";
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t most_;
};

std::string metadata_text(const io::Metadata& metadata, std::int64_t most) {
  if (metadata.empty()) return "";
  Rows rows(most);
  for (const auto& [key, value] : metadata) rows.add({printable(key), shortened(value)});
  return "metadata:\n" + rows.text();
}

std::string graph_text(const std::string& path, std::int64_t most) {
  const GraphFunction f = load_graph(path, {.tile_kernels = true});  // nothing is run
  Rows rows(most);
  const auto add = [&](const char* what, const std::string& name, DType dtype, const Shape& shape) {
    rows.add({what, printable(name), std::string(tegula::name(dtype)), shape_text(shape)});
  };
  for (const GraphValue& one : f.inputs()) add("input", one.name, one.dtype, one.shape);
  for (const GraphValue& one : f.outputs()) add("output", one.name, one.dtype, one.shape);
  for (const Parameter& one : f.state()) add(f.writes(one) ? "state" : "weight", one.name, one.cell->dtype(), one.cell->shape());
  return "a graph of " + counted(f.size(), "node", "nodes") + " (tegula graph FILE prints it)\n" +
         (is_plan_file(path) ? "a plan (tegula graph FILE --stage plan prints it)\n" : "") + rows.text() +
         metadata_text(f.metadata(), most);
}

std::string safetensors_text(const std::string& path, std::int64_t most) {
  const io::SafetensorsHeader file = io::read_safetensors_header(path);
  double numbers = 0;
  bool is_checkpoint = false;
  Rows rows(most);
  for (const io::StoredTensor& tensor : file.tensors) {
    double count = 1;
    for (const auto size : tensor.shape) count *= static_cast<double>(size);
    numbers += count;
    is_checkpoint = is_checkpoint || tensor.name.starts_with("optimizer/") || tensor.name.starts_with("loader/");
    rows.add({printable(tensor.name), printable(tensor.type), shape_text(tensor.shape)});
  }
  const auto model = file.metadata.find("tegula.model");
  if (const auto graph = file.metadata.find(std::string(kGraphKey)); graph != file.metadata.end()) return graph_text(path, most);
  std::string what = is_checkpoint ? "a checkpoint of a training (--resume), " : "";
  if (model != file.metadata.end()) what += "the model " + shortened(model->second, 40) + ", ";
  return what + counted(file.tensors.size(), "tensor", "tensors") + " of " + quantity(numbers) + " numbers\n" + rows.text() +
         metadata_text(file.metadata, most);
}

std::string onnx_text(const std::string& path, std::int64_t most) {
  const onnx::File file = onnx::read_file(path);
  std::map<std::string, std::size_t> operators;
  for (const onnx::Node& node : file.graph.nodes) ++operators[(node.domain.empty() ? "" : node.domain + "::") + node.type];
  Rows rows(most), used(most), missing(most);
  const auto add = [&](const char* what, const onnx::ValueType& one) {
    std::string sizes;
    for (std::size_t i = 0; i < one.sizes.size(); ++i) {
      const std::string symbol = one.symbols[i].empty() ? "?" : one.symbols[i];
      sizes += (i ? ", " : "") + (one.sizes[i] < 0 ? symbol : std::to_string(one.sizes[i]));
    }
    const bool is_tensor = one.kind == onnx::ValueType::Kind::Tensor;
    rows.add({what, printable(one.name), (is_tensor ? "" : "a list of ") + onnx::name_of(one.element),
              one.has_shape ? printable("(" + sizes + ")") : ""});
  };
  double numbers = 0;
  for (const auto& one : file.graph.initializers)
    if (one.array.buffer) numbers += static_cast<double>(one.array.size());
  for (const auto& one : file.graph.inputs)
    if (std::ranges::none_of(file.graph.initializers, [&](const auto& array) { return array.name == one.name; })) add("input", one);
  for (const auto& one : file.graph.outputs) add("output", one);
  for (const auto& [name, count] : operators) used.add({printable(name), std::to_string(count)});
  for (const onnx::Finding& one : onnx::check(file)) missing.add({one.node, one.problem});
  std::string out = counted(file.graph.nodes.size(), "node", "nodes") + ", " +
                    counted(file.graph.initializers.size(), "tensor", "tensors") + " of " + quantity(numbers) + " numbers, operator set " +
                    std::to_string(file.opsets.at("")) + (file.producer.empty() ? "" : ", by " + shortened(file.producer, 40)) + "\n" +
                    rows.text() + "operators:\n" + used.text();
  if (most == INT64_MAX) {
    Rows nodes(most);
    for (const onnx::Node& node : file.graph.nodes)
      nodes.add({printable(node.title()), printable(node.type), printable(joined(node.inputs) + " -> " + joined(node.outputs))});
    out += "nodes:\n" + nodes.text();
  }
  const std::string lacks = missing.text();
  return out + (lacks.empty() ? "all of it can be built (onnx::load)\n" : "what cannot be built:\n" + lacks);
}

std::string array_text(const io::NpyHeader& header) {
  if (!header.unreadable.empty()) return printable(header.unreadable) + ", which cannot be read here, " + to_string(header.shape);
  return "'" + header.dtype + "' " + to_string(header.shape) + (header.fortran_order ? ", in Fortran's order" : "");
}

std::string npy_text(const std::string& path) {
  const io::InputFile file(path, "npy");
  io::Bytes bytes(std::min<std::uint64_t>(file.size(), 12));
  file.read_at(0, bytes);
  bytes.resize(std::min<std::uint64_t>(file.size(), io::npy_header_bytes(bytes, path)));
  file.read_at(0, bytes);
  return "an array, " + array_text(io::parse_npy_header(bytes, file.size(), path)) + "\n";
}

std::string npz_text(const std::string& path, std::int64_t most) {
  const auto members = io::list_npz(path);
  Rows rows(most);
  for (const io::NpzMember& member : members) rows.add({printable(member.name), array_text(member.header)});
  return counted(members.size(), "array", "arrays") + "\n" + rows.text();
}

std::string pytorch_text(const std::string& path, std::int64_t most) {
  double numbers = 0;
  Rows rows(most);
  const io::NamedArrays tensors = io::read_pytorch(path);
  for (const auto& [name, array] : tensors) {
    numbers += static_cast<double>(array.size());
    rows.add({printable(name), std::string(tegula::name(array.dtype)), to_string(array.shape)});
  }
  return counted(tensors.size(), "tensor", "tensors") + " of " + quantity(numbers) + " numbers\n" + rows.text();
}

template <class Arrays>
std::string arrays_text(const Arrays& arrays, std::int64_t most) {
  Rows rows(most);
  for (const auto& one : arrays)
    if (one.is_array) rows.add({printable(one.path), one.type, shape_text(one.shape)});
  return rows.text();
}

/// Layers with what has to be said to those here, and tensors as they become. A file that leaves a question open is shown as it is, with the question.
/// TensorFlow's "w.index" beside "w.data-00000-of-00001": a table without a signature in front.
bool is_checkpoint_index(const std::string& path) {
  constexpr std::string_view kEnd = ".index";
  if (!path.ends_with(kEnd)) return false;
  const std::filesystem::path file(path);
  const std::string data = file.stem().string() + ".data-";
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  return std::ranges::any_of(std::filesystem::directory_iterator(folder),
                             [&](const auto& entry) { return entry.path().filename().string().starts_with(data); });
}

std::string checkpoint_text(const std::string& path, std::int64_t most) {
  Rows rows(most);
  for (const io::CheckpointVariable& one : io::read_checkpoint(path, io::Contents::Shapes))
    rows.add({printable(one.name.empty() ? one.key : one.name), one.type, shape_text(one.shape)});
  return rows.text();
}

std::string keras_text(const std::string& path, std::int64_t most) {
  Rows layers(most), rows(most);
  for (const io::KerasLayer& layer : io::read_keras_layers(path))
    layers.add({printable(layer.name), printable(layer.kind), shortened(layer.settings)});
  std::string out = layers.text();
  if (!out.empty()) out = "layers, and what those here have to be told:\n" + out;
  try {
    double numbers = 0;
    const auto tensors = io::read_keras(path);
    for (const io::KerasTensor& tensor : tensors) {
      numbers += static_cast<double>(tensor.array.size());
      rows.add({printable(tensor.name), std::string(tegula::name(tensor.array.dtype)), to_string(tensor.array.shape), tensor.change});
    }
    return out + counted(tensors.size(), "tensor", "tensors") + " of " + quantity(numbers) + " numbers, as load_state gives them\n" +
           rows.text();
  } catch (const Error& error) {
    const bool is_checkpoint = io::is_folder(path) || is_checkpoint_index(path);
    if (!is_checkpoint && io::kind_of(io::beginning_of(path, "tegula info")) != FileKind::Hdf5) throw;
    const std::string arrays = is_checkpoint ? checkpoint_text(path, most) : arrays_text(io::read_hdf5(path, io::Contents::Shapes), most);
    return out + (is_checkpoint ? "variables\n" : "arrays\n") + arrays + "load_state gives none of them:\n  " + error.report().got +
           "\n  load_keras takes " + error.report().expected + "\n";
  }
}

std::string gguf_value(const io::GgufValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) return shortened(v);
        else if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, double>) return number_text(v);
        else if constexpr (std::is_integral_v<T>) return std::to_string(v);
        else return "a list of " + std::to_string(v.size());
      },
      value);
}

std::string gguf_text(const std::string& path, std::int64_t most) {
  const io::GgufMetadata metadata = io::read_gguf_metadata(path);
  const auto tensors = io::read_gguf_tensors(path);
  Rows keys(most), rows(most);
  for (const auto& [key, value] : metadata.values) keys.add({printable(key), gguf_value(value)});
  for (const io::GgufTensor& tensor : tensors) rows.add({printable(tensor.name), tensor.type, shape_text(tensor.shape)});
  return "version " + std::to_string(metadata.version) + ", " + counted(tensors.size(), "tensor", "tensors") + "\n" + rows.text() +
         "keys:\n" + keys.text();
}

std::string tokenizer_text(const text::Tokenizer& tokenizer) {
  std::string special;
  for (text::Id id = 0, count = 0; id < tokenizer.size() && count < 10; ++id) {
    if (!tokenizer.is_special(id)) continue;
    special += (count++ ? ", " : "") + printable(tokenizer.token(id)) + " (" + std::to_string(id) + ")";
  }
  return "a tokenizer of " + std::to_string(tokenizer.size()) + " tokens" + (special.empty() ? "" : "; special: " + special) + "\n";
}

std::string json_text(const std::string& path) {
  const std::string text = text::read_text(path, "tegula info");
  const nlohmann::json json = parse_json(text, "tegula info", path);
  if (json.is_object() && json.contains("model") && json["model"].is_object())
    return tokenizer_text(text::parse_tokenizer_json(text, path));
  return "JSON: " + shown(json, 200) + "\n";
}

std::string column_text(const io::Table& table, const std::string& name) {
  std::int64_t missing = 0;
  for (std::int64_t row = 0; row < table.rows(); ++row) missing += table.is_missing(row, name);
  const std::string gaps = missing ? ", " + std::to_string(missing) + " without a value" : "";
  switch (table.kind(name)) {
    case io::ColumnKind::None: return "no values";
    case io::ColumnKind::Dates: return "dates" + gaps;
    case io::ColumnKind::Numbers: {
      double least = INFINITY, most = -INFINITY;
      for (const double value : table.numbers({name}, NAN, f64).values<double>()) {
        if (!std::isnan(value)) least = std::min(least, value), most = std::max(most, value);
      }
      return "numbers from " + number_text(least) + " to " + number_text(most) + gaps;
    }
    case io::ColumnKind::Texts: break;
  }
  const auto texts = table.classes(name, {}, io::Unknown::MinusOne).names;
  std::string list;
  for (std::size_t i = 0; i < texts.size() && i < 5; ++i) list += (i ? ", " : "") + shortened(texts[i], 30);
  return counted(texts.size(), "text", "different texts") + gaps + ": " + list + (texts.size() > 5 ? ", ..." : "");
}

std::string table_text(const io::Table& table, std::int64_t most) {
  Rows rows(most);
  for (const std::string& name : table.names()) rows.add({printable(name), column_text(table, name)});
  return "a table of " + counted(static_cast<std::size_t>(table.rows()), "row", "rows") + "\n" + rows.text();
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

/// True if the line is a word and numbers, as in files of vectors, or two numbers alone, as at the beginning of word2vec's.
bool begins_vectors(std::string_view line) {
  std::size_t fields = 0, numbers = 0;
  while (!line.empty()) {
    const std::string_view field = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), field.size() + 1));
    if (field.empty()) continue;
    ++fields;
    numbers += is_number(field);
  }
  return (fields == 2 && numbers == 2) || (fields > 5 && numbers + 1 >= fields);
}

std::string vectors_text(const std::string& path) {
  const text::WordVectors vectors = text::read_word_vectors(path);
  std::string first;
  for (text::Id id = 0; id < std::min<text::Id>(vectors.size(), 8); ++id)
    first += (id ? ", " : "") + shortened(vectors.vocabulary().token(id), 30);
  return "vectors of " + std::to_string(vectors.size()) + " words, " + std::to_string(vectors.dimension()) + " numbers each: " + first +
         " ...\n";
}

std::string text_text(const std::string& path, std::int64_t most) {
  std::string name = path;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const bool is_tsv = name.ends_with(".tsv") || name.ends_with(".tab");
  if (name.ends_with(".csv") || is_tsv) {
    io::CsvOptions csv = is_tsv ? io::tsv() : io::CsvOptions();
    csv.missing = kNoValue;  // as `tegula train table` reads it
    return table_text(io::read_csv(path, csv), most);
  }
  if (name.ends_with("vocab.txt")) return tokenizer_text(text::read_bert_tokenizer(path));
  const std::string text = text::read_text(path, "tegula info");
  const auto lines = text::split_lines(text);
  if (!lines.empty() && begins_vectors(lines[0])) return vectors_text(path);
  return "text, " + counted(lines.size(), "line", "lines") + ", " + std::to_string(text.size()) + " bytes\n" +
         (lines.empty() ? "" : "  " + shortened(std::string(lines[0])) + "\n");
}

std::string gzip_text(const std::string& path, std::int64_t most) {
  const io::Bytes packed = io::read_file(path, {.op = "tegula info"});
  io::GzipReader reader(packed, path, "tegula info");
  io::Bytes begin(io::kKindBytes);
  begin.resize(reader.read(begin));
  const FileKind kind = io::kind_of(begin);
  std::string out = "in it ";
  if (kind == FileKind::Idx) return out + "an idx file\n" + to_string(data::read_idx(path).shape) + "\n";
  if (kind == FileKind::Unknown) return out + text_text(path, most);
  return out + std::string(io::name_of(kind)) + "\n";
}

/// A folder of Hugging Face's: the kind of the model, and its weights.
std::string hugging_face_text(const std::string& path, std::int64_t most) {
  const std::string config = path + "/config.json";
  const nlohmann::json json = parse_json(text::read_text(config, "tegula info"), "tegula info", config);
  const std::string kind = json.is_object() && json.contains("model_type") ? shown(json["model_type"], 40) : "no model_type";
  std::string out = "a folder of Hugging Face's, " + kind + " (tegula generate takes gpt2 and llama)\n";
  for (const char* file : {"/model.safetensors", "/pytorch_model.bin", "/model.safetensors.index.json", "/pytorch_model.bin.index.json"})
    if (io::is_there(path + file)) out += describe_file(path + file, most);
  return out;
}

std::string folder_text(const std::string& path, std::int64_t most) {
  if (io::is_there(path + "/config.json")) return hugging_face_text(path, most);
  if (io::is_saved_model(path)) return std::string(io::name_of(FileKind::SavedModel)) + "\n" + keras_text(path, most);
  const data::ImageFolder folder(path);
  std::vector<std::int64_t> counts(folder.classes().size());
  for (const std::int64_t label : folder.labels()) ++counts[static_cast<std::size_t>(label)];
  Rows rows(most);
  for (std::size_t i = 0; i < counts.size(); ++i) rows.add({printable(folder.classes()[i]), std::to_string(counts[i])});
  return "a folder of " + std::to_string(folder.size()) + " pictures in " + counted(counts.size(), "class", "classes") + "\n" + rows.text();
}

/// The sizes of a model of llama2.c, whose file has no signature; empty for any other file.
std::string llama2c_text(const std::string& path) {
  try {
    const models::LlamaOptions options = models::load_llama2c(path).options();
    return "vocabulary " + std::to_string(options.vocabulary) + ", width " + std::to_string(options.width) + ", " +
           counted(static_cast<std::size_t>(options.layers), "layer", "layers") + " of " +
           counted(static_cast<std::size_t>(options.heads), "head", "heads") + ", context " + std::to_string(options.context) +
           " (tegula generate takes it)\n";
  } catch (const Error&) { return ""; }
}

std::string contents_text(const std::string& path, FileKind kind, std::int64_t most) {
  switch (kind) {
    case FileKind::Safetensors: return safetensors_text(path, most);
    case FileKind::Npy: return npy_text(path);
    case FileKind::Npz: return npz_text(path, most);
    case FileKind::Gguf: return gguf_text(path, most);
    case FileKind::PyTorch: return pytorch_text(path, most);
    case FileKind::Hdf5:
    case FileKind::Keras: return keras_text(path, most);
    case FileKind::Onnx: return onnx_text(path, most);
    case FileKind::Idx: {
      const HostArray array = data::read_idx(path);
      return std::string(name(array.dtype)) + " " + to_string(array.shape) + "\n";
    }
    case FileKind::Png:
    case FileKind::Jpeg: {
      const Shape shape = io::read_picture(path).shape;
      return std::to_string(shape[1]) + " x " + std::to_string(shape[0]) + " pixels, " +
             counted(static_cast<std::size_t>(shape[2]), "channel", "channels") + "\n";
    }
    case FileKind::Gzip: return gzip_text(path, most);
    case FileKind::SentencePiece: return tokenizer_text(text::read_sentencepiece(path));
    case FileKind::Json: return json_text(path);
    case FileKind::Unknown: return text_text(path, most);
    default:
      return "Tegula does not read such files" + (io::advice_for(kind).empty() ? "" : ": " + std::string(io::advice_for(kind))) + "\n";
  }
}

}  // namespace

std::string describe_file(const std::string& path, std::int64_t most) {
  if (io::is_folder(path)) return path + ": " + folder_text(path, most);
  const io::InputFile file(path, "tegula info");
  io::Bytes begin(std::min<std::uint64_t>(file.size(), io::kKindBytes));
  file.read_at(0, begin);
  FileKind kind = io::kind_of(begin);
  if (kind == FileKind::Json && !path.ends_with(".json") && file.size() > (1 << 20)) kind = FileKind::Unknown;
  const std::string size = bytes_text(static_cast<std::size_t>(file.size()));
  if (kind == FileKind::Unknown && is_checkpoint_index(path))
    return path + ": a checkpoint of TensorFlow, its index of " + size + "\n" + keras_text(path, most);
  if (kind == FileKind::Unknown && path.ends_with(".bin")) {
    if (const std::string net = llama2c_text(path); !net.empty()) return path + ": a model of llama2.c, " + size + "\n" + net;
  }
  const std::string named = kind == FileKind::Unknown ? "" : std::string(io::name_of(kind)) + ", ";
  return path + ": " + named + size + "\n" + contents_text(path, kind, most);
}

}  // namespace tegula::app
