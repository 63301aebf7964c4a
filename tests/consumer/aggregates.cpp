// Options by name, as the documentation writes them: no warning for the fields that are left out, with -Wall -Wextra -Wpedantic -Werror.
#include <tegula/tegula.h>

#include <vector>
using namespace tegula;

namespace {

struct Net {
  nn::Conv2d conv{1, 4, 3, {.stride = 2, .padding = Same}};
  nn::MaxPool2d pool{2, {.stride = 2}};
  nn::Upsample up{.scale_factor = 2};
  nn::BatchNorm2d norm{4, {.momentum = 0.05}};
  nn::LSTM lstm{4, 8, {.layers = 2}};
  nn::MultiheadAttention attention{8, 2, {.batch_first = true}};
  Tensor operator()(Tensor x) { return up(norm(pool(conv(x)))); }
};

void plots() {
  io::plot("a.png", io::Figure{.title = "t", .panels = {{.y_label = "y", .series = {{.name = "a", .x = {1, 2}, .y = {3, 4}}}}}});
  io::plot("b.png", io::Figure{.panels = {{.series = {{.x = {1, 2}, .y = {3, 4}}}, .y_scale = io::Scale::Log10}}});
  io::plot("c.png", io::Heatmap{.rows = {"a"}, .columns = {"b"}, .values = {1}});
  io::plot("d.png", io::LearningCurve{.title = "t", .train_loss = {1, 0.5}});
  io::plot("e.png", io::Scatter{.x = {1}, .y = {2}, .labels = {"here"}});
}

void training(const data::AnyDataset& train) {
  Net net;
  optim::AdamW adam(parameters(net), {.lr = 1e-3, .weight_decay = 0.1});
  Trainer trainer(net, adam, cross_entropy,
                  {.epochs = 2,
                   .batch = 16,
                   .schedule = optim::OneCycleLR{.maximum = 1e-2, .total = 100},
                   .metrics = {{.name = "loss", .value = cross_entropy}}});
  trainer.on_epoch = EarlyStopping{.patience = 3};
  trainer.fit(train);
  data::Loader loader(train, {.batch = 4, .shuffle = true});
  adam.lr =
      optim::CosineLR{.base = 0.1, .total = 10}(3) + optim::PlateauLR{.base = 0.1}(1.0) + optim::StepLR{.base = 0.1, .step_size = 3}(1);
}

Tensor values(Tensor x, Tensor labels) {
  const Scanned all = scan([](const std::vector<Tensor>& carry, const std::vector<Tensor>&) { return Scanned{.carry = {carry[0] * 2}}; },
                           {x}, {}, {.length = 3});
  const Tensor loss = cross_entropy(x, labels, {.ignore_index = -1, .label_smoothing = 0.1});
  return clamp(x, {.low = 0}) + slice(x, 1, {.step = 2}) + all.carry[0] + loss + normal({2}, 0, 1, {.dtype = f64});
}

}  // namespace

int main(int argc, char**) {
  if (argc < 2) return 0;
  plots();
  training({});
  values(Tensor(), Tensor()).print();
}
