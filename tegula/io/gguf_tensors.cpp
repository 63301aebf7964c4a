// The numbers of GGUF's tensors. Packed types are blocks of 32 or 256 numbers: a scale in f16 or several, and few bits for each (ggml-quants.c).

#include <algorithm>
#include <cstring>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/gguf.h"

namespace tegula::io {
namespace {

using Block = const std::uint8_t*;

float half_at(Block block) {
  Half half;
  std::memcpy(&half, block, sizeof half);
  return static_cast<float>(half);
}
int low(std::uint8_t byte) { return byte & 15; }
int high(std::uint8_t byte) { return byte >> 4; }

/// d, then 32 numbers of 8 bits: d q.
void unpack_q8_0(Block block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

/// d, then 16 bytes, whose lower halves are the first 16 numbers: d (q - 8).
void unpack_q4_0(Block block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(low(block[2 + i]) - 8);
    out[i + 16] = d * static_cast<float>(high(block[2 + i]) - 8);
  }
}

/// d and the minima's scale m; 8 scales and 8 minima of 6 bits in 12 bytes; 128 bytes of halves. Each of 8 groups of 32: d s q - m t.
void unpack_q4_k(Block block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  const Block packed = block + 4;
  Block numbers = block + 16;
  const auto scale = [&](int group) { return group < 4 ? packed[group] & 63 : low(packed[group + 4]) | (packed[group - 4] >> 6) << 4; };
  const auto least = [&](int group) { return group < 4 ? packed[group + 4] & 63 : high(packed[group + 4]) | (packed[group] >> 6) << 4; };
  for (int group = 0; group < 8; group += 2, numbers += 32, out += 64) {
    const float scales[] = {d * static_cast<float>(scale(group)), d * static_cast<float>(scale(group + 1))};
    const float minima[] = {m * static_cast<float>(least(group)), m * static_cast<float>(least(group + 1))};
    for (int i = 0; i < 32; ++i) {
      out[i] = scales[0] * static_cast<float>(low(numbers[i])) - minima[0];
      out[i + 32] = scales[1] * static_cast<float>(high(numbers[i])) - minima[1];
    }
  }
}

/// The lower 4 bits of 256 numbers, their upper 2, 16 scales of 8 bits, d. Each of 16 groups of 16: d s (q - 32).
void unpack_q6_k(Block block, float* out) {
  Block lower = block, upper = block + 128, scales = block + 192;
  const float d = half_at(block + 208);
  for (int half = 0; half < 2; ++half, lower += 64, upper += 32, scales += 8, out += 128) {
    for (int i = 0; i < 32; ++i) {
      const int bits[] = {low(lower[i]), low(lower[i + 32]), high(lower[i]), high(lower[i + 32])};
      for (int part = 0; part < 4; ++part) {
        const int q = (bits[part] | (upper[i] >> 2 * part & 3) << 4) - 32;
        const int s = static_cast<std::int8_t>(scales[i / 16 + 2 * part]);
        out[i + 32 * part] = d * static_cast<float>(s) * static_cast<float>(q);
      }
    }
  }
}

/// How a type lies in the file.
struct Form {
  std::string_view type;
  DType dtype;
  std::uint64_t numbers = 1, bytes = 0;  // of a block
  void (*unpack)(Block, float*) = nullptr;
};
constexpr Form kForms[] = {{"F32", DType::f32, 1, 4},
                           {"F64", DType::f64, 1, 8},
                           {"F16", DType::f16, 1, 2},
                           {"BF16", DType::bf16, 1, 2},
                           {"I8", DType::i8, 1, 1},
                           {"I16", DType::i16, 1, 2},
                           {"I32", DType::i32, 1, 4},
                           {"I64", DType::i64, 1, 8},
                           {"Q8_0", DType::f32, 32, 34, unpack_q8_0},
                           {"Q4_0", DType::f32, 32, 18, unpack_q4_0},
                           {"Q4_K", DType::f32, 256, 144, unpack_q4_k},
                           {"Q6_K", DType::f32, 256, 210, unpack_q6_k}};

HostArray array_of(const GgufTensor& tensor, std::span<const std::byte> bytes, std::string_view name, std::uint64_t& taken) {
  const auto fail = [&](const std::string& got, const std::string& expected, const std::string& advice) {
    throw Error(
        {.op = "gguf", .got = printable(std::string(name) + ": " + tensor.name + ": " + got), .expected = expected, .advice = advice});
  };
  const std::string damaged = "the file is truncated or damaged";
  const auto form = std::ranges::find(kForms, tensor.type, &Form::type);
  if (form == std::end(kForms))
    fail("a tensor of type " + tensor.type, "F32, F16, BF16, Q8_0, Q4_0, Q4_K or Q6_K",
         "llama-quantize --allow-requantize writes the model in another type");
  if (tensor.shape.size() > static_cast<std::size_t>(kMaxRank))
    fail(std::to_string(tensor.shape.size()) + " axes", "at most " + std::to_string(kMaxRank), "");
  const std::uint64_t most = bytes.size() / form->bytes * form->numbers;
  std::uint64_t count = 1;
  Shape shape;
  for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
    if (*size > most || (*size > 0 && count > most / *size)) fail("more numbers than the file holds", "a whole file", damaged);
    count *= *size;
    shape.push_back(static_cast<std::int64_t>(*size));
  }
  if (form->numbers > 1 && (tensor.shape.empty() || tensor.shape[0] % form->numbers != 0))
    fail(to_string(shape) + " of type " + tensor.type, "rows of whole blocks of " + std::to_string(form->numbers), damaged);
  const std::uint64_t stored = count / form->numbers * form->bytes;
  if (tensor.place > bytes.size() || stored > bytes.size() - tensor.place)
    fail(std::to_string(stored) + " bytes behind the end", "a whole file", damaged);
  taken += stored;
  if (taken > bytes.size()) fail("tensors that lie over each other", "a place for each", damaged);
  HostArray out = HostArray::empty(form->dtype, shape);
  const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data()) + tensor.place;
  if (!form->unpack) {
    if (stored > 0) std::memcpy(out.buffer->data(), from, static_cast<std::size_t>(stored));
    return out;
  }
  auto* into = static_cast<float*>(out.buffer->data());
  for (std::uint64_t block = 0; block < count / form->numbers; ++block, from += form->bytes, into += form->numbers)
    form->unpack(from, into);
  return out;
}

}  // namespace

NamedArrays parse_gguf(std::span<const std::byte> bytes, std::string_view name) {
  NamedArrays out;
  std::set<std::string_view> names;
  std::uint64_t taken = 0;
  const auto tensors = parse_gguf_tensors(bytes, name);
  for (const GgufTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      throw Error({.op = "gguf", .got = printable(std::string(name) + ": two tensors named " + tensor.name), .expected = "each name once"});
    out.emplace_back(tensor.name, array_of(tensor, bytes, name, taken));
  }
  return out;
}

NamedArrays read_gguf(const std::string& path) { return parse_gguf(read_file(path, {.op = "gguf", .limit = std::size_t{1} << 37}), path); }

}  // namespace tegula::io
