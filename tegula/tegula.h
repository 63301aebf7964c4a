#pragma once
// Tegula: the public include, and the table of contents. Beside it: tegula/models.h (ready models of images and tables), tegula/dist.h (several ranks),
// and tegula/text.h (texts, tokenizers, models of words; its library is tegula::text).
#if __cplusplus >= 202002L
#include <version>
#endif
#if !defined(__cpp_lib_source_location) || (defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12)
#error "Tegula needs C++20 with std::source_location: GCC 12 or Clang 16, or newer, with -std=c++20"
#else

// Values. Error says op, what came, what was expected, the line, and what to do.
#include "tegula/core/dtype.h"  // f32, i64, …
#include "tegula/core/error.h"
#include "tegula/core/host_array.h"
#include "tegula/core/interrupt.h"  // stop_on_interrupt: Ctrl-C as a request
#include "tegula/core/shape.h"  // Shape{2, 3}
#include "tegula/core/warning.h"  // set_warning_handler
#include "tegula/graph/tensor.h"  // Tensor, tensor({1.f, 2.f}), item, to_host, print
#include "tegula/graph/variable.h"  // Variable, Parameter, Flag: state

// Devices.
#include "tegula/runtime/registry.h"  // cpu(), cuda(), device("cuda:1"), set_default_device
#include "tegula/runtime/threads.h"  // set_num_threads

// The graph: differentiation, evaluation, compilation.
#include "tegula/compile/jit.h"  // jit
#include "tegula/formats/graph_file.h"  // save_graph, load_graph
#include "tegula/formats/plan_file.h"  // save_plan, load_plan
#include "tegula/functional/derivatives.h"  // jvp, jacobian, hessian
#include "tegula/functional/vmap.h"  // vmap
#include "tegula/graph/autodiff/grad.h"  // grad, value_and_grad, vjp, stop_gradient, custom_function, checkpoint
#include "tegula/graph/evaluate.h"  // eval(a, b, …)
#include "tegula/graph/frame.h"  // In frame("MyLayer", x.loc)
#include "tegula/graph/history.h"  // set_history_budget
#include "tegula/graph/nonfinite.h"  // find_nonfinite: where NaN comes from
#include "tegula/graph/precision.h"  // set_default_precision, PrecisionScope
#include "tegula/graph/print.h"  // to_dot
#include "tegula/graph/stream.h"  // std::cout << x

// Ops, element by element.
#include "tegula/ops/elementwise/activation.h"  // relu, gelu, …
#include "tegula/ops/elementwise/arithmetic.h"  // + - * / pow abs minimum clamp …
#include "tegula/ops/elementwise/compare.h"  // == < isclose …
#include "tegula/ops/elementwise/int4.h"  // pack_int4 unpack_int4
#include "tegula/ops/elementwise/logic.h"  // && & where cast
#include "tegula/ops/elementwise/math.h"  // exp log sqrt tanh erf …

// Ops that move elements.
#include "tegula/ops/creation.h"  // zeros ones full arange linspace eye
#include "tegula/ops/random.h"  // uniform normal randint bernoulli permutation multinomial manual_seed
#include "tegula/ops/rows/search.h"  // searchsorted bucketize quantile bincount
#include "tegula/ops/rows/sort.h"  // sort argsort topk
#include "tegula/ops/shape/index.h"  // take gather scatter index one_hot masked_fill
#include "tegula/ops/shape/join.h"  // concat stack split unbind pad repeat roll tril diag
#include "tegula/ops/shape/selecting.h"  // nonzero masked_select compress unique scatter_reduce
#include "tegula/ops/shape/shape.h"  // reshape flatten permute transpose slice expand

// Ops that combine elements.
#include "tegula/ops/e4m3.h"  // round_e4m3
#include "tegula/ops/products/einsum.h"  // einsum
#include "tegula/ops/products/integer_products.h"  // matmul_integer conv_integer
#include "tegula/ops/products/matmul.h"  // matmul linear dot
#include "tegula/ops/rows/distance.h"  // cosine_similarity cdist
#include "tegula/ops/rows/nan_reduce.h"  // nansum nanmean nanvar nanstd nanmedian
#include "tegula/ops/rows/reduce.h"  // sum mean max argmax var norm logsumexp
#include "tegula/ops/rows/scan.h"  // cumsum cumprod

// Ops of networks.
#include "tegula/ops/branch.h"  // cond while_loop
#include "tegula/ops/debug_print.h"  // debug_print: a value in the middle of a jit
#include "tegula/ops/dropout.h"
#include "tegula/ops/images/boxes.h"  // box_iou box_convert encode_boxes nms
#include "tegula/ops/images/grid_sample.h"  // grid_sample affine_grid
#include "tegula/ops/images/interpolate.h"  // interpolate
#include "tegula/ops/images/regions.h"  // roi_align roi_pool
#include "tegula/ops/images/unfold.h"  // unfold fold pixel_shuffle
#include "tegula/ops/images/unpool.h"  // max_pool2d_with_indices max_unpool2d local_contrast_norm
#include "tegula/ops/linalg/linalg.h"  // solve inverse det lu cholesky qr svd eigh eig lstsq pinv …
#include "tegula/ops/loop.h"  // scan: recurrences
#include "tegula/ops/products/attention.h"  // scaled_dot_product_attention
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/convolution_ladder.h"  // conv2d_with(algorithm, …)
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/linear_cross_entropy.h"  // linear_cross_entropy
#include "tegula/ops/rows/loss.h"  // cross_entropy mse_loss …
#include "tegula/ops/rows/normalization.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/embedding.h"
#include "tegula/ops/signal/fft.h"  // fft ifft rfft irfft convolve complex_of
#include "tegula/ops/signal/stft.h"  // stft istft hann_window
#include "tegula/ops/sparse/sparse.h"  // segment_sum segment_softmax sparse_matmul embedding_bag

// Are the gradients right?
#include "tegula/ops/check_gradients.h"

// Networks: plain structs of layers.
#include "tegula/nn/activation.h"  // nn::ReLU, …
#include "tegula/nn/convolution.h"  // nn::Conv2d, nn::ConvTranspose2d
#include "tegula/nn/dropout.h"  // nn::Dropout
#include "tegula/nn/freeze.h"  // freeze(net, "features.*"), unfreeze
#include "tegula/nn/images.h"  // nn::Upsample, nn::PixelShuffle
#include "tegula/nn/init.h"  // nn::init::he_normal, …
#include "tegula/nn/linear.h"  // nn::Linear, nn::Embedding, nn::Flatten
#include "tegula/nn/module.h"  // parameters, train, eval, num_parameters
#include "tegula/nn/normalization.h"  // nn::BatchNorm2d, nn::LayerNorm
#include "tegula/nn/pooling.h"  // nn::MaxPool2d
#include "tegula/nn/preprocessing.h"  // nn::StandardScaler, nn::Imputer, nn::OneHot
#include "tegula/nn/sequences/adaptive_softmax.h"  // nn::AdaptiveLogSoftmaxWithLoss
#include "tegula/nn/sequences/attention.h"  // nn::MultiheadAttention, nn::AdditiveAttention
#include "tegula/nn/sequences/cache.h"  // nn::KeyValueCache
#include "tegula/nn/sequences/positions.h"  // nn::Rotary, nn::sinusoidal_positions
#include "tegula/nn/sequences/recurrent.h"  // nn::RNN, nn::LSTM, nn::GRU
#include "tegula/nn/sequences/transformer.h"  // nn::TransformerEncoder, nn::TransformerDecoder
#include "tegula/nn/sequential.h"  // nn::Sequential, nn::Residual
#include "tegula/nn/state.h"  // state_dict, save, load
#include "tegula/nn/summary.h"  // summary(net, {1, 3, 32, 32})
#include "tegula/nn/weight_norm.h"  // nn::WeightNorm, nn::SpectralNorm

// Training.
#include "tegula/optim/accumulate.h"  // optim::GradientAccumulator
#include "tegula/optim/average.h"  // optim::EMA, optim::SWA
#include "tegula/optim/clip.h"  // optim::clip_grad_norm
#include "tegula/optim/groups.h"  // optim::ParameterGroups: options and rates for some of the parameters
#include "tegula/optim/layerwise.h"  // optim::LARS, optim::LAMB, optim::Adafactor
#include "tegula/optim/loss_scaler.h"  // optim::LossScaler, for Precision::fp16
#include "tegula/optim/optimizers.h"  // optim::SGD, optim::Adam, …
#include "tegula/optim/schedule.h"  // optim::CosineLR, …

#include "tegula/train/checkpoint.h"
#include "tegula/train/evaluator.h"
#include "tegula/train/loss.h"
#include "tegula/train/matching.h"  // best_matching: the Hungarian method
#include "tegula/train/metrics.h"  // metrics::accuracy, …
#include "tegula/train/metrics_of_boxes.h"  // metrics::MeanAveragePrecision
#include "tegula/train/metrics_of_samples.h"  // metrics::frechet_distance
#include "tegula/train/objects.h"  // metrics::measure_pixels, metrics::measure_boxes, pixel_loss, detection_loss
#include "tegula/train/trainer.h"  // Trainer, EarlyStopping

// Data and files.
#include "tegula/data/augment.h"  // data::augmented, data::RandomFlip, …
#include "tegula/data/cifar.h"  // data::cifar10
#include "tegula/data/dataset.h"  // data::Dataset, data::map, data::ArrayDataset
#include "tegula/data/digits.h"  // data::draw_digits
#include "tegula/data/image_folder.h"
#include "tegula/data/image_grid.h"  // data::image_grid
#include "tegula/data/loader.h"  // data::Loader
#include "tegula/data/mnist.h"  // data::mnist
#include "tegula/data/object_labels.h"  // data::read_coco, data::read_yolo
#include "tegula/data/objects/object_folder.h"  // data::ObjectFolder, data::MaskFolder: pictures with labels
#include "tegula/data/objects/padded.h"  // data::padded: batches of pictures of unequal sizes
#include "tegula/data/objects/placement.h"  // data::RandomPlacement: one change for image, boxes and mask
#include "tegula/data/objects/voc.h"  // data::read_voc
#include "tegula/data/scenes.h"  // data::draw_scenes: digits anywhere, with boxes and masks
#include "tegula/data/split.h"  // data::split, data::k_fold
#include "tegula/io/csv.h"  // io::read_csv
#include "tegula/io/draw_boxes.h"  // io::draw_boxes
#include "tegula/io/draw_mask.h"  // io::draw_mask
#include "tegula/io/event_file.h"  // io::EventFile, for TensorBoard
#include "tegula/io/jpeg.h"
#include "tegula/io/npy.h"  // io::read_npy, io::read_npz
#include "tegula/io/plot.h"
#include "tegula/io/plot_bars.h"  // io::Histogram, io::BarChart
#include "tegula/io/png.h"
#include "tegula/io/safetensors.h"

#endif  // the compiler is new enough
