#include "app/file_model.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "app/onnx_model.h"
#include "app/own/training.h"
#include "tegula/formats/graph_file.h"
#include "tegula/io/file.h"
#include "tegula/models/image_classifier.h"
#include "tegula/models/images/detection.h"
#include "tegula/models/images/segmentation.h"
#include "tegula/models/registry.h"
#include "tegula/models/table.h"
#include "tegula/models/text/answers.h"
#include "tegula/models/text/bert.h"
#include "tegula/models/text/language_model.h"
#include "tegula/models/text/text_classifier.h"
#include "tegula/models/text/translator.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/join.h"

namespace tegula::app {
namespace {

/// `net` is part of the object that `owner` keeps.
template <class Owner, class Net, class... Inputs>
FileModel file_model(std::string kind, std::shared_ptr<Owner> owner, Net& net, const Inputs&... inputs) {
  eval(net);
  const auto call = [owner, &net]<std::size_t... I>(const std::vector<Tensor>& x, std::index_sequence<I...>) { return net(x[I]...); };
  return {std::move(kind),
          nn::state(net),
          {inputs...},
          [call](const std::vector<Tensor>& x) { return call(x, std::index_sequence_for<Inputs...>()); },
          [owner, &net, inputs...] { return summary(net, inputs...); }};
}

struct Texts {
  std::int64_t batch, length;
  Tensor tokens(std::int64_t most) const { return zeros({batch, most > 0 ? std::min(most, length) : length}, i64); }
  Tensor lengths(std::int64_t most) const { return full({batch}, static_cast<double>(tokens(most).size(1)), i64); }
};

FileModel language_model(const std::string& path, const Texts& texts) {
  auto model = std::make_shared<models::LanguageModel>(models::load_language_model(path));
  const auto of = [&](auto& net) { return file_model(std::string(model->kind()), model, *net, texts.tokens(model->context())); };
  return std::visit(of, model->net);
}

FileModel text_classifier(const std::string& path, const std::string& kind, const Texts& texts) {
  auto model = std::make_shared<models::TextClassifier>(models::load_text_classifier(path));
  const std::int64_t most = model->longest();
  const auto of = [&]<class Net>(std::unique_ptr<Net>& net) {
    if constexpr (std::is_same_v<Net, models::BertForSequenceClassification>) return file_model(kind, model, *net, texts.tokens(most));
    else return file_model(kind, model, *net, texts.tokens(most), texts.lengths(most));
  };
  return std::visit(of, model->net);
}

FileModel masked_bert(const std::string& path, const Texts& texts) {
  const models::BertOptions options = models::bert_options(models::read_model_file(path).description, path);
  auto net = std::make_shared<models::BertForMaskedLM>(options);
  return file_model(models::kBertMaskedKind, net, *net, texts.tokens(options.context));
}

/// Scores (B, T, 2) of the first and the last token of answers.
struct AnswerScores {
  models::AnswerFinder finder;
  Tensor operator()(const Tensor& tokens) const { return stack((*finder.net)(tokens), -1); }
  void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(*finder.net, visitor, path); }
};
FileModel answers(const std::string& path, const Texts& texts) {
  auto scores = std::make_shared<AnswerScores>(AnswerScores{models::AnswerFinder::load(path)});
  return file_model(models::kBertAnswersKind, scores, *scores, texts.tokens(scores->finder.windows.length));
}

}  // namespace

std::optional<FileModel> model_in(const std::string& path, std::int64_t batch, std::int64_t length) {
  const auto listed = models::all();
  const auto is_listed = [&](const std::string& name) {
    return std::ranges::any_of(listed, [&](const auto& entry) { return entry.name == name; });
  };
  if (!io::is_there(path) || is_listed(path)) return {};
  if (is_onnx(path)) return onnx_file_model(path, batch, length);
  if (is_graph_file(path)) return graph_file_model(path);
  const Texts texts{batch, length};
  const bool says_kind = !io::is_folder(path) && !path.ends_with(".bin");  // not those of Hugging Face and llama2.c
  const std::string kind = says_kind ? kind_of_model(path) : "";
  if (is_listed(kind)) return {};
  if (kind == models::kTableKind) {
    auto model = std::make_shared<models::LoadedTableModel>(models::load_table_model(path));
    const models::TableLayout& layout = model->model.layout();
    return file_model(kind, model, model->model.net(), zeros({batch, layout.numbers() + layout.categorical()}));
  }
  if (kind == models::kImagesKind) {
    auto model = std::make_shared<models::NamedImageClassifier>(models::load_image_classifier(path));
    const std::int64_t size = model->net->options().size;
    return file_model(kind, model, *model->net, zeros({batch, 3, size, size}));
  }
  if (kind == models::kSegmentationKind) {
    auto model = std::make_shared<models::NamedUNet>(models::load_unet(path));
    return file_model(kind, model, *model->net, zeros({batch, model->net->in, model->size, model->size}));
  }
  if (kind == models::kDetectionKind) {
    auto model = std::make_shared<models::NamedDetector>(models::load_detector(path));
    return file_model(kind, model, *model->net, zeros({batch, model->net->in, model->size, model->size}));
  }
  if (kind.starts_with("translation-")) {
    auto model = std::make_shared<models::Translator>(models::Translator::load(path));
    return file_model(kind, model, *model, texts.tokens(0), texts.tokens(0), texts.lengths(0));
  }
  if (kind == models::kBertMaskedKind) return masked_bert(path, texts);
  if (kind == models::kBertAnswersKind) return answers(path, texts);
  if (kind.ends_with("-classifier")) return text_classifier(path, kind, texts);
  return language_model(path, texts);
}

}  // namespace tegula::app
