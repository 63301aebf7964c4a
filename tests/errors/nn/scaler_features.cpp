// expect: ^StandardScaler: got an input of shape \(5, 4\), expected 3 features in axis -1
#include <tegula/tegula.h>

void scaler_features() {
  tegula::nn::StandardScaler scale{3};
  scale.fit(tegula::zeros({5, 4}));  // here
}
