// expect: ^EarlyStopping: got \.restore_best in a function of one's own
// expect: hint: trainer\.on_epoch = EarlyStopping\{\.restore_best = true\}
#include <tegula/tegula.h>
using namespace tegula;

void early_stopping_in_a_function() {
  nn::Linear net{3, 1};
  optim::Adam adam(parameters(net));
  Trainer trainer(net, adam, mse_loss, {.epochs = 1, .batch = 2});
  trainer.on_epoch = [stop = EarlyStopping{.restore_best = true}](const EpochRecord& record) mutable { return stop(record); };
  trainer.fit(data::ArrayDataset(ones({4, 3}).to_array(), ones({4, 1}).to_array()));
}
