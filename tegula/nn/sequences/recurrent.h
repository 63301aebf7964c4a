#pragma once
// Recurrent layers, by PyTorch's names, gate order and options: RNN, LSTM (with projection), GRU, and one step of each as a cell.

#include <string>
#include <vector>

#include "tegula/nn/dropout.h"
#include "tegula/nn/module.h"

namespace tegula::nn {

enum class Nonlinearity : std::uint8_t { Tanh, Relu };

struct RecurrentOptions {
  int layers = 1;
  bool bias = true;
  bool batch_first = false;    // x and output (N, T, …); states stay (layers * directions, N, …)
  double dropout = 0;          // on each layer's output but the last one's, while training
  bool bidirectional = false;  // a second direction from the last step to the first; outputs beside each other
  Nonlinearity nonlinearity = Nonlinearity::Tanh;  // RNN
  std::int64_t proj_size = 0;  // LSTM: features that h is projected to (Sak et al., 2014); 0: h is not projected
  double cell_clip =
      0;  // LSTM: c stays in [-cell_clip, cell_clip] (Sak et al., 2014; cuDNN's clipping), beyond which no gradient goes back; 0: anywhere
  DType dtype = f32;
};

/// Optional arguments beside the input.
struct RecurrentState {
  Tensor h = {};  // (layers * directions, N, H) to begin with; zeros where there is none
  Tensor c = {};  // LSTM: (layers * directions, N, hidden_size)
  Tensor lengths =
      {};  // (N), integers: sample n ends before step lengths[n]; its outputs behind that are 0, its state is that of its last step
};
/// output (T, N, directions * H) of the last layer, and the states after the last step, as in RecurrentState. Without a batch the axis N is missing.
struct Recurrent {
  Tensor output, h, c;
};

namespace detail {

/// One layer in one direction.
struct Direction {
  std::vector<std::string> names;  // "weight_ih_l0_reverse", …
  Variable weight_ih;  // (gates * hidden, features)
  Variable weight_hh;  // (gates * hidden, H)
  Variable bias_ih, bias_hh;  // (gates * hidden), or empty
  Variable weight_hr;  // (H, hidden), or empty
  void visit(Visitor& visitor, const Path& path);
};

enum class Recurrence : std::uint8_t { RNN, LSTM, GRU };

/// The state after one step: h (N, H), and an LSTM's c (N, hidden).
struct CellState {
  Tensor h = {}, c = {};
};

class Cell {
 public:
  void visit(Visitor& visitor, const Path& path) { one_.visit(visitor, path); }

 protected:
  Cell(Recurrence kind, std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options, const Line& where);
  CellState run(const Arg& x, const CellState& state) const;

 private:
  Recurrence kind_;
  RecurrentOptions options_;
  Direction one_;
};

class RecurrentLayers {
 public:
  void visit(Visitor& visitor, const Path& path);
  /// The variables of layer `k`: direction 0 is forward, 1 reverse. For reading or setting them.
  Direction& direction(int layer, int direction = 0);

 protected:
  RecurrentLayers(Recurrence kind, std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options, const Line& where);
  Recurrent run(const Arg& x, const RecurrentState& state) const;

 private:
  Recurrence kind_;
  std::int64_t input_size_, hidden_size_;
  RecurrentOptions options_;
  std::vector<Direction> directions_;
  Dropout dropout_;
};

}  // namespace detail

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu (Elman, 1990). x (T, N, input_size), or (T, input_size) without a batch.
class RNN : public detail::RecurrentLayers {
 public:
  RNN(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : RecurrentLayers(detail::Recurrence::RNN, input_size, hidden_size, options, where) {}
  Recurrent operator()(Arg x, const RecurrentState& state = {}) const { return run(x, state); }
};

/// i, f, g, o = σ, σ, tanh, σ of W_ih x + b_ih + W_hh h + b_hh; c' = f c + i g; h' = o tanh(c') (Hochreiter & Schmidhuber, 1997; Gers et al., 2000).
class LSTM : public detail::RecurrentLayers {
 public:
  LSTM(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : RecurrentLayers(detail::Recurrence::LSTM, input_size, hidden_size, options, where) {}
  Recurrent operator()(Arg x, const RecurrentState& state = {}) const { return run(x, state); }
};

/// r, z = σ(W_i x + b_i + W_h h + b_h); n = tanh(W_in x + b_in + r (W_hn h + b_hn)); h' = (1 - z) n + z h (Cho et al., 2014, with cuDNN's order).
class GRU : public detail::RecurrentLayers {
 public:
  GRU(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : RecurrentLayers(detail::Recurrence::GRU, input_size, hidden_size, options, where) {}
  Recurrent operator()(Arg x, const RecurrentState& state = {}) const { return run(x, state); }
};

/// One step of an RNN: x (N, input_size), h (N, hidden_size) or none, which is zeros -> h'. Uses only the options bias, nonlinearity, cell_clip and dtype.
class RNNCell : public detail::Cell {
 public:
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : Cell(detail::Recurrence::RNN, input_size, hidden_size, options, where) {}
  Tensor operator()(Arg x, const Tensor& h = {}) const { return run(x, {h, {}}).h; }
};
/// One step of an LSTM: x (N, input_size), h and c (N, hidden_size) -> h', c'.
class LSTMCell : public detail::Cell {
 public:
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : Cell(detail::Recurrence::LSTM, input_size, hidden_size, options, where) {}
  detail::CellState operator()(Arg x, const detail::CellState& state = {}) const { return run(x, state); }
};
/// One step of a GRU.
class GRUCell : public detail::Cell {
 public:
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options = {}, Line where = Line::current())
      : Cell(detail::Recurrence::GRU, input_size, hidden_size, options, where) {}
  Tensor operator()(Arg x, const Tensor& h = {}) const { return run(x, {h, {}}).h; }
};

}  // namespace tegula::nn
