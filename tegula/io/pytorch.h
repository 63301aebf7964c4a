#pragma once
// Reads the files of torch.save: state dicts, and checkpoints that hold one, as zip archives (PyTorch 1.6 and newer) and in the older format.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/io/safetensors.h"

namespace tegula::io {

/// The tensors of a file of PyTorch's (.pt, .pth, .th, .bin), under the names of a state dict. Nothing of the file is executed: of Python's objects it may
/// hold dicts, lists, numbers, texts and tensors (f64, f32, f16, bf16, i64, i32, i16, i8, u8, bool).
/// - `entry` names the part of a checkpoint that is wanted: "optimizer.state". Without it a dict of a checkpoint is taken as the state dict that has one of
///   the usual names (state_dict, model_state_dict, model, net, weights), where no tensor lies beside it; else all tensors, with the keys on the way as
///   "encoder.layers.0.weight".
/// - A tensor that is a view of another one is copied, dense; tensors of one storage, such as tied weights, share their memory where they fill it.
/// Throws Error for a truncated or damaged file, for Python objects of other kinds (it names them; whole modules and TorchScript are such), for tensors that leave
/// their storage, and for an entry that is not there.
NamedArrays read_pytorch(const std::string& path, const std::string& entry = "");
/// The same from memory. `name` stands for the file in messages.
NamedArrays parse_pytorch(std::span<const std::byte> bytes, std::string_view name, const std::string& entry = "");

/// A state dict that torch.load(path, weights_only=True) reads, written atomically. Needs libzip. Throws Error for names that come twice and for dtypes without a
/// storage in PyTorch.
void write_pytorch(const std::string& path, const NamedArrays& tensors);

}  // namespace tegula::io
