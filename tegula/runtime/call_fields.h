#pragma once
// The fields of descriptions: each listed once, by name, for their writers and readers in files. `visit(name, field)`.

#include <concepts>

#include "tegula/runtime/call_description.h"

namespace tegula::runtime {

template <class Visit, std::same_as<Expression> T>
void fields(Visit& visit, T& d) {
  visit("values", d.values);
}
template <class Visit, std::same_as<Expression::Value> T>
void fields(Visit& visit, T& d) {
  visit("source", d.source), visit("word", d.word), visit("operands", d.operands), visit("constant", d.constant);
}

/// The layout of a tensor in blocks: of devices whose calls have them.
template <class Visit, class T>
requires requires(T& d) { d.axes, d.sizes, d.any; }
void fields(Visit& visit, T& d) {
  visit("shape", d.shape), visit("strides", d.strides), visit("axes", d.axes), visit("sizes", d.sizes), visit("any", d.any);
}

template <class Visit, std::same_as<Operand> T>
void fields(Visit& visit, T& d) {
  visit("dtype", d.dtype), visit("layout", d.layout), visit("scale", d.scale);
  if constexpr (requires { d.blocks; }) visit("blocks", d.blocks);
}

template <class Visit>
void fields(Visit& visit, Matmul& d) {
  visit("a", d.a), visit("b", d.b), visit("c", d.c), visit("arithmetic", d.arithmetic), visit("epilogue", d.epilogue);
}

template <class Visit, std::same_as<Convolution> T>
void fields(Visit& visit, T& d) {
  visit("pass", d.pass), visit("input", d.input), visit("weight", d.weight), visit("output", d.output);
  visit("stride", d.stride), visit("dilation", d.dilation), visit("pad_low", d.pad_low), visit("pad_high", d.pad_high);
  visit("groups", d.groups), visit("bias_gradient", d.bias_gradient), visit("epilogue", d.epilogue), visit("keeps_nan", d.keeps_nan);
  visit("arithmetic", d.arithmetic);
}

/// A weight put into blocks.
template <class Visit, class T>
requires requires(T& d) { d.blocks, d.weight.shape, d.dtype; }
void fields(Visit& visit, T& d) {
  visit("dtype", d.dtype), visit("weight", d.weight), visit("blocks", d.blocks);
}

template <class Visit>
void fields(Visit& visit, Pooling& d) {
  visit("kind", d.kind), visit("backward", d.backward), visit("input", d.input), visit("output", d.output);
  visit("window", d.window), visit("stride", d.stride), visit("dilation", d.dilation), visit("pad_low", d.pad_low);
  visit("pad_high", d.pad_high), visit("wants_values", d.wants_values), visit("wants_taps", d.wants_taps), visit("taps", d.taps);
}

template <class Visit>
void fields(Visit& visit, Attention& d) {
  visit("backward", d.backward), visit("q", d.q), visit("k", d.k), visit("v", d.v), visit("o", d.o);
  visit("o_gradient", d.o_gradient), visit("q_gradient", d.gradients[0]), visit("k_gradient", d.gradients[1]);
  visit("v_gradient", d.gradients[2]), visit("scale", d.scale), visit("causal", d.causal), visit("window", d.window);
  visit("mask", d.mask), visit("bias", d.bias), visit("lengths", d.lengths), visit("start", d.start), visit("dropout", d.dropout);
  visit("sum_gradient", d.sum_gradient);
}

template <class Visit>
void fields(Visit& visit, ScatterSum& d) {
  visit("dtype", d.dtype), visit("outer", d.outer), visit("count", d.count), visit("length", d.length), visit("width", d.width);
}

template <class Visit>
void fields(Visit& visit, MatrixRoutine& d) {
  visit("routine", d.routine), visit("dtype", d.dtype), visit("batch", d.batch), visit("rows", d.rows), visit("columns", d.columns);
  visit("right", d.right), visit("upper", d.upper), visit("transposed", d.transposed), visit("unit", d.unit), visit("full", d.full);
  visit("vectors", d.vectors);
}

template <class Visit>
void fields(Visit& visit, Fourier& d) {
  visit("spectrum", d.spectrum), visit("dtype", d.dtype), visit("inverse", d.inverse), visit("batch", d.batch), visit("sizes", d.sizes);
}

template <class Visit>
void fields(Visit& visit, GroupedSum& d) {
  visit("dtype", d.dtype), visit("outer", d.outer), visit("count", d.count), visit("rows", d.rows), visit("length", d.length);
  visit("width", d.width), visit("weighted", d.weighted), visit("terms", d.terms), visit("reads", d.reads);
}
template <class Visit, std::same_as<GroupedSum::Lines> T>
void fields(Visit& visit, T& d) {
  visit("rows", d.rows), visit("named", d.named);
}

}  // namespace tegula::runtime
