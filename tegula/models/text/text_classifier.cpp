#include "tegula/models/text/text_classifier.h"

#include <limits>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/models/description.h"
#include "tegula/models/model_file.h"
#include "tegula/models/text/decoder.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/labelled_texts.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

constexpr const char *kLstm = "lstm-classifier", *kTransformer = "transformer-classifier";
constexpr const char *kTokenizer = "tegula.tokenizer", *kClasses = "tegula.classes";
constexpr double kMost = 1 << 24;

void require_sizes(std::string_view name, std::initializer_list<std::int64_t> sizes, std::int64_t classes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) ops::refuse(name, "a size of " + std::to_string(size), "positive sizes", {});
  }
  if (classes < 2) ops::refuse(name, std::to_string(classes) + " classes", "at least 2", {});
}

const LstmClassifierOptions& checked(const LstmClassifierOptions& o) {
  require_sizes("LstmClassifier", {o.vocabulary, o.embedding, o.hidden, o.layers}, o.classes);
  return o;
}
const TransformerClassifierOptions& checked(const TransformerClassifierOptions& o) {
  require_sizes("TransformerClassifier", {o.vocabulary, o.width, o.heads, o.hidden, o.layers, o.context}, o.classes);
  return o;
}

Tensor checked_lengths(std::string_view name, const Tensor& tokens, const Tensor& lengths) {
  if (lengths.shape() != Shape{tokens.size(0)} || !is_integer(lengths.dtype()))
    ops::refuse(name, "lengths of shape " + to_string(lengths.shape()), "integers of shape " + to_string(Shape{tokens.size(0)}), {});
  return ops::check_lengths(name, lengths, tokens.size(1), "tokens", {});
}

io::Metadata described(const char* kind, const std::string& tokenizer_json, const std::vector<std::string>& classes) {
  std::string names;
  for (const std::string& name : classes) names += (names.empty() ? "" : "\n") + name;
  return {{kModelKey, kind}, {kTokenizer, tokenizer_json}, {kClasses, names}};
}

}  // namespace

LstmClassifier::LstmClassifier(const LstmClassifierOptions& o)
    : embedding(checked(o).vocabulary, o.embedding),
      lstm(o.embedding, o.hidden,
           {.layers = static_cast<int>(o.layers), .dropout = o.layers > 1 ? o.dropout : 0, .bidirectional = o.bidirectional}),
      dropout(o.dropout),
      output((o.bidirectional ? 2 : 1) * o.hidden, o.classes),
      options_(o) {}

Tensor LstmClassifier::operator()(Tensor tokens, Tensor lengths) const {
  const In frame("LstmClassifier", {});
  const Tensor t = checked_tokens("LstmClassifier", tokens, std::numeric_limits<std::int64_t>::max());
  lengths = checked_lengths("LstmClassifier", t, lengths);
  const Tensor h = lstm(dropout(embedding(transpose(t, 0, 1))), {.lengths = lengths}).h;  // (layers * directions, N, hidden)
  const Tensor last = select(h, 0, -1);
  return output(dropout(options_.bidirectional ? concat({select(h, 0, -2), last}, 1) : last));
}

TransformerClassifier::TransformerClassifier(const TransformerClassifierOptions& o)
    : embedding(checked(o).vocabulary, o.width),
      positions(o.context, o.width),
      encoder(o.layers, o.width, o.heads,
              {.dim_feedforward = o.hidden,
               .dropout = o.dropout,
               .activation = nn::FeedForwardActivation::Gelu,
               .batch_first = true,
               .norm_first = true},
              nn::FinalNorm::Yes),
      dropout(o.dropout),
      output(o.width, o.classes),
      options_(o) {}

Tensor TransformerClassifier::operator()(Tensor tokens, Tensor lengths) const {
  const In frame("TransformerClassifier", {});
  const Tensor t = checked_tokens("TransformerClassifier", tokens, options_.context);
  lengths = checked_lengths("TransformerClassifier", t, lengths);
  const Tensor padding = arange(t.size(1)) >= expand_dims(lengths, 1);  // (N, T)
  const Tensor x = dropout(embedding(t) + slice(positions.weight, 0, {0, t.size(1)}));
  const Tensor features = where(expand_dims(padding, 2), 0.0, encoder(x, {.src_key_padding_mask = padding}));
  return output(dropout(sum(features, 1) / cast(expand_dims(lengths, 1), f32)));
}

std::int64_t TextClassifier::longest() const {
  const auto whole = [](std::int64_t context) { return context / 8 * 8; };  // batches are padded to such lengths
  if (const auto* transformer = std::get_if<std::unique_ptr<TransformerClassifier>>(&net)) return whole((*transformer)->options().context);
  if (const auto* bert = std::get_if<std::unique_ptr<BertForSequenceClassification>>(&net)) return whole((*bert)->bert.options().context);
  return 1024;
}

Tensor TextClassifier::probabilities(const std::vector<std::string>& texts) const {
  std::vector<text::Ids> ids;
  std::vector<const text::Ids*> pointers;
  const bool framed = std::holds_alternative<std::unique_ptr<BertForSequenceClassification>>(net);
  const auto tokens_of = pairs ? text::framed_pair : framed ? text::framed_tokens : text::classifier_tokens;
  for (const std::string& one : texts) ids.push_back(tokens_of(tokenizer, one, longest()));
  for (const text::Ids& one : ids) pointers.push_back(&one);
  const auto batch = text::as_batch(pointers);
  const Tensor tokens = from_array(batch[0]), lengths = from_array(batch[1]);
  const auto scores = [&](const auto& one) {
    if constexpr (requires { (*one)(tokens, lengths); }) return (*one)(tokens, lengths);
    else return (*one)(tokens, {.lengths = lengths, .token_types = pairs ? pair_types(tokens, tokenizer.id("[SEP]")) : Tensor()});
  };
  return softmax(std::visit(scores, net), 1);
}

void save_text_classifier(const std::string& path, const LstmClassifier& net, const std::string& tokenizer_json,
                          const std::vector<std::string>& classes) {
  const LstmClassifierOptions& o = net.options();
  io::Metadata metadata = described(kLstm, tokenizer_json, classes);
  metadata["tegula.vocabulary"] = std::to_string(o.vocabulary);
  metadata["tegula.embedding"] = std::to_string(o.embedding);
  metadata["tegula.hidden"] = std::to_string(o.hidden);
  metadata["tegula.layers"] = std::to_string(o.layers);
  metadata["tegula.bidirectional"] = o.bidirectional ? "1" : "0";
  metadata["tegula.dropout"] = number_text(o.dropout);
  save_safetensors(state_dict(net), path, metadata);
}

void save_text_classifier(const std::string& path, const TransformerClassifier& net, const std::string& tokenizer_json,
                          const std::vector<std::string>& classes) {
  const TransformerClassifierOptions& o = net.options();
  io::Metadata metadata = described(kTransformer, tokenizer_json, classes);
  metadata["tegula.vocabulary"] = std::to_string(o.vocabulary);
  metadata["tegula.width"] = std::to_string(o.width);
  metadata["tegula.heads"] = std::to_string(o.heads);
  metadata["tegula.hidden"] = std::to_string(o.hidden);
  metadata["tegula.layers"] = std::to_string(o.layers);
  metadata["tegula.context"] = std::to_string(o.context);
  metadata["tegula.dropout"] = number_text(o.dropout);
  save_safetensors(state_dict(net), path, metadata);
}

namespace {

/// The net with the weights and texts of its file.
template <class Net>
TextClassifier finished(std::unique_ptr<Net> net, const StateDict& state, std::int64_t vocabulary, const std::string& tokenizer_json,
                        std::vector<std::string> classes, const std::string& path) {
  load(*net, state);
  eval(*net);
  TextClassifier out{std::move(net), text::parse_tokenizer_json(tokenizer_json, path), std::move(classes)};
  if (out.tokenizer.size() > vocabulary) {
    throw Error({.op = "load_text_classifier",
                 .got = path + ": a tokenizer of " + std::to_string(out.tokenizer.size()) + " tokens",
                 .expected = "at most the model's " + std::to_string(vocabulary)});
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& names) {
  std::vector<std::string> lines;
  for (const std::string_view name : text::split_lines(names)) lines.emplace_back(name);
  return lines;
}

TextClassifier load_bert(const std::string& path) {
  const ModelFile file = read_model_file(path);
  const BertOptions options = bert_options(file.description, path);
  std::vector<std::string> classes = lines_of(file.description.text("classes", path));
  auto net = std::make_unique<BertForSequenceClassification>(options, static_cast<std::int64_t>(classes.size()));
  TextClassifier out =
      finished(std::move(net), file.state, options.vocabulary, file.description.text("tokenizer", path), std::move(classes), path);
  out.pairs = file.description.numbers.contains("pairs");
  return out;
}

}  // namespace

TextClassifier load_text_classifier(const std::string& path) {
  const io::Safetensors file = io::read_safetensors(path);
  const Description d(file.metadata, path);
  const std::string& kind = d.text(kModelKey);
  if (kind == kBertClassifierKind) return load_bert(path);
  if (kind != kLstm && kind != kTransformer) {
    throw Error({.op = "load_text_classifier",
                 .got = path + ": the model " + kind.substr(0, 80),
                 .expected = "a classifier of texts",
                 .advice = "tegula train classify and tegula train bert --classify write such files"});
  }
  const auto size = [&](const char* name) { return d.whole_number(std::string("tegula.") + name, kMost, 1); };
  const std::int64_t layers = d.whole_number("tegula.layers", static_cast<double>(file.tensors.size()), 1);
  std::vector<std::string> classes = lines_of(d.text(kClasses));
  const auto count = static_cast<std::int64_t>(classes.size());
  const auto read = [&](auto net) {
    return finished(std::move(net), model_state(file), size("vocabulary"), d.text(kTokenizer), std::move(classes), path);
  };
  if (kind == kLstm) {
    return read(std::make_unique<LstmClassifier>(LstmClassifierOptions{.vocabulary = size("vocabulary"),
                                                                       .classes = count,
                                                                       .embedding = size("embedding"),
                                                                       .hidden = size("hidden"),
                                                                       .layers = layers,
                                                                       .bidirectional = d.whole_number("tegula.bidirectional", 1) == 1,
                                                                       .dropout = d.number("tegula.dropout")}));
  }
  return read(std::make_unique<TransformerClassifier>(TransformerClassifierOptions{.vocabulary = size("vocabulary"),
                                                                                   .classes = count,
                                                                                   .width = size("width"),
                                                                                   .heads = size("heads"),
                                                                                   .hidden = size("hidden"),
                                                                                   .layers = layers,
                                                                                   .context = size("context"),
                                                                                   .dropout = d.number("tegula.dropout")}));
}

}  // namespace tegula::models
