#include "tegula/models/text/lstm_language_model.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/models/text/decoder.h"
#include "tegula/models/text/token_loop.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr std::string_view kName = "LstmLanguageModel";

const LstmLanguageModelOptions& checked(const LstmLanguageModelOptions& o) {
  if (o.vocabulary < 1 || o.embedding < 1 || o.hidden < 1 || o.layers < 1 || o.layers > 1000) {
    ops::refuse(kName,
                "vocabulary " + std::to_string(o.vocabulary) + ", embedding " + std::to_string(o.embedding) + ", hidden " +
                    std::to_string(o.hidden) + ", layers " + std::to_string(o.layers),
                "positive sizes", {});
  }
  return o;
}

Shape state_shape(const LstmLanguageModel& net, std::int64_t batch) { return {net.options().layers, batch, net.options().hidden}; }

}  // namespace

LstmLanguageModel::LstmLanguageModel(const LstmLanguageModelOptions& o)
    : embedding(checked(o).vocabulary, o.embedding, {.dtype = o.dtype}),
      lstm(o.embedding, o.hidden, {.layers = static_cast<int>(o.layers), .dropout = o.dropout, .dtype = o.dtype}),
      dropout(o.dropout),
      output(o.hidden, o.vocabulary, {.dtype = o.dtype}),
      options_(o) {}

nn::Recurrent LstmLanguageModel::hidden(Arg tokens, const nn::RecurrentState& state) const {
  const In frame(kName, tokens.loc);
  const Tensor t = checked_tokens(kName, tokens, std::numeric_limits<std::int64_t>::max());
  nn::Recurrent out = lstm(dropout(embedding(transpose(t, 0, 1))), state);
  out.output = dropout(transpose(out.output, 0, 1));
  return out;
}

Tensor LstmLanguageModel::head(Arg x) const {
  const In frame(kName, x.loc);
  return output(x);
}

CarriedLstm::CarriedLstm(const LstmLanguageModel& net, std::int64_t batch, std::int64_t eval_batch, const dist::Group& ranks) : net_(&net) {
  if (batch % ranks.size() != 0 || eval_batch % ranks.size() != 0) {
    ops::refuse("CarriedLstm",
                std::to_string(batch) + " and " + std::to_string(eval_batch) + " streams for " + std::to_string(ranks.size()) + " ranks",
                "as many for each", {});
  }
  const auto begin = [&](auto& buffer, std::int64_t streams) {
    buffer = zeros(state_shape(net, streams / ranks.size()), net.options().dtype);
    if (ranks.size() > 1) buffer.cell()->set_partition(std::make_shared<const dist::AxisPartition>(ranks, state_shape(net, streams), 1));
  };
  begin(h_, batch), begin(c_, batch);
  begin(eval_h_, eval_batch), begin(eval_c_, eval_batch);
}

Tensor CarriedLstm::operator()(Tensor tokens, Tensor begins) {
  const Tensor kept = reshape(1.0 - begins, {1, begins.size(0), 1});
  const auto carried = [&](auto& h, auto& c) {
    const nn::Recurrent out = net_->hidden(tokens, {.h = h * kept, .c = c * kept});
    h = stop_gradient(out.h), c = stop_gradient(out.c);
    return out.output;
  };
  return training_ ? carried(h_, c_) : carried(eval_h_, eval_c_);
}

void CarriedLstm::visit(nn::Visitor& visitor, const nn::Path& path) {
  nn::visit(const_cast<LstmLanguageModel&>(*net_), visitor, path);  // constness is shallow, as in nn::AnyModule
  visitor.buffer(nn::Path{&path, "carried/h"}, h_);
  visitor.buffer(nn::Path{&path, "carried/c"}, c_);
  visitor.non_persistent_buffer(nn::Path{&path, "eval_h"}, eval_h_);
  visitor.non_persistent_buffer(nn::Path{&path, "eval_c"}, eval_c_);
  visitor.flag(nn::Path{&path, "training"}, training_);
}

class LstmGenerator::Impl {
 public:
  Impl(const LstmLanguageModel& net, std::int64_t batch)
      : net_(net),
        batch_(batch),
        choose_(batch, net.options().vocabulary),
        h_(zeros(state_shape(net, batch), net.options().dtype)),
        c_(zeros(state_shape(net, batch), net.options().dtype)) {}

  std::vector<Generated> operator()(const detail::Prompts& prompts, const GenerateOptions& o) {
    detail::check_options("LstmGenerator", prompts.size(), static_cast<std::size_t>(batch_), o);
    if (o.beams > 1) ops::refuse("LstmGenerator", std::to_string(o.beams) + " beams", "1", {});
    std::size_t longest = 0;
    for (const auto& prompt : prompts) {
      if (prompt.empty()) ops::refuse("LstmGenerator", "an empty prompt", "at least one token", {});
      longest = std::max(longest, prompt.size());
    }
    if (choose_.use(o.sampling, o.generator) || !step_) compile();
    const Tensor rows = detail::packed(prompts, detail::prompt_width(longest), net_.options().vocabulary);
    choose_.begin(prompts);
    return detail::generate_tokens(
        (*prefill_)(rows).to_host<std::int64_t>(), o.max_new_tokens, o,
        [this](const std::vector<std::int64_t>& tokens) { return (*step_)(tensor(tokens, {batch_})).to_host<std::int64_t>(); });
  }

 private:
  using Function = std::function<Tensor(const Tensor&)>;

  void compile() {
    prefill_.emplace(jit(Function([this](const Tensor& in) {  // (B, 1 + W)
                           return chosen(slice(in, 1, {1, {}}), {.lengths = select(in, 1, 0)});
                         }),
                         {.signatures = 16}));
    step_.emplace(jit(Function([this](const Tensor& tokens) { return chosen(unsqueeze(tokens, 1), {.h = h_, .c = c_}); })));
  }

  /// The tokens chosen from the state after the last token, which is the last layer's features.
  Tensor chosen(const Tensor& tokens, const nn::RecurrentState& state) {
    const nn::Recurrent out = net_.hidden(tokens, state);
    h_ = out.h, c_ = out.c;
    return choose_(net_.head(select(out.h, 0, -1)));
  }

  const LstmLanguageModel& net_;
  std::int64_t batch_;
  detail::TokenChooser choose_;
  Variable h_, c_;
  std::optional<Jit<Function>> prefill_, step_;
};

LstmGenerator::LstmGenerator(const LstmLanguageModel& net, std::int64_t batch) : impl_(std::make_unique<Impl>(net, batch)) {}
LstmGenerator::~LstmGenerator() = default;
LstmGenerator::LstmGenerator(LstmGenerator&&) noexcept = default;
LstmGenerator& LstmGenerator::operator=(LstmGenerator&&) noexcept = default;

std::vector<Generated> LstmGenerator::operator()(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options) {
  return (*impl_)(prompts, options);
}
Generated LstmGenerator::operator()(const std::vector<std::int64_t>& prompt, const GenerateOptions& options) {
  return (*this)(std::vector<std::vector<std::int64_t>>{prompt}, options)[0];
}

}  // namespace tegula::models
