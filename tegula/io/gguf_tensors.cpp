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

/// d and the least m, then numbers as of Q4_0: d q + m.
void unpack_q4_1(Block block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(low(block[4 + i])) + m;
    out[i + 16] = d * static_cast<float>(high(block[4 + i])) + m;
  }
}

/// The fifth bit of number i of 32, in its place.
int fifth_bit(Block bits, int i) { return (bits[i / 8] >> i % 8 & 1) << 4; }

/// d, the fifth bits of 32 numbers, then their lower 4 as of Q4_0: d (q - 16).
void unpack_q5_0(Block block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((low(block[6 + i]) | fifth_bit(block + 2, i)) - 16);
    out[i + 16] = d * static_cast<float>((high(block[6 + i]) | fifth_bit(block + 2, i + 16)) - 16);
  }
}

/// d and the least m, then numbers as of Q5_0: d q + m.
void unpack_q5_1(Block block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(low(block[8 + i]) | fifth_bit(block + 4, i)) + m;
    out[i + 16] = d * static_cast<float>(high(block[8 + i]) | fifth_bit(block + 4, i + 16)) + m;
  }
}

/// 16 codes of a table, chosen for weights that are normally distributed.
constexpr std::int8_t kNormalCodes[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// d, then 16 bytes of codes as of Q4_0: d code.
void unpack_iq4_nl(Block block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kNormalCodes[low(block[2 + i])]);
    out[i + 16] = d * static_cast<float>(kNormalCodes[high(block[2 + i])]);
  }
}

/// d; the upper 2 bits and the lower 4 of 8 scales; 128 bytes of codes. Each of 8 groups of 32: d (s - 32) code.
void unpack_iq4_xs(Block block, float* out) {
  const float d = half_at(block);
  const int upper = block[2] | block[3] << 8;
  Block codes = block + 8;
  for (int group = 0; group < 8; ++group, codes += 16, out += 32) {
    const int scale = (block[4 + group / 2] >> 4 * (group % 2) & 15) | (upper >> 2 * group & 3) << 4;
    const float step = d * static_cast<float>(scale - 32);
    for (int i = 0; i < 16; ++i) {
      out[i] = step * static_cast<float>(kNormalCodes[low(codes[i])]);
      out[i + 16] = step * static_cast<float>(kNormalCodes[high(codes[i])]);
    }
  }
}

/// 16 bytes of a scale (lower half) and a least (upper half), 64 bytes of 2 bits, d, m. Each of 16 groups of 16: d s q - m t.
void unpack_q2_k(Block block, float* out) {
  const float d = half_at(block + 80), m = half_at(block + 82);
  Block scales = block, numbers = block + 16;
  for (int half = 0; half < 2; ++half, numbers += 32) {
    for (int group = 0; group < 8; ++group, ++scales) {
      const float scale = d * static_cast<float>(low(*scales)), least = m * static_cast<float>(high(*scales));
      for (int i = 0; i < 16; ++i) *out++ = scale * static_cast<float>(numbers[i + 16 * (group % 2)] >> group / 2 * 2 & 3) - least;
    }
  }
}

/// The third bits of 256 numbers, their lower 2, 16 scales of 6 bits in 12 bytes, d. Each of 16 groups of 16: d (s - 32) (q - 4).
void unpack_q3_k(Block block, float* out) {
  const float d = half_at(block + 108);
  Block thirds = block, numbers = block + 32, packed = block + 96;
  const auto scale = [&](int group) {
    const int lower = group < 8 ? low(packed[group]) : high(packed[group - 8]);
    return (lower | (packed[8 + group % 4] >> 2 * (group / 4) & 3) << 4) - 32;
  };
  for (int half = 0; half < 2; ++half, numbers += 32) {
    for (int group = 0; group < 8; ++group) {
      const float step = d * static_cast<float>(scale(8 * half + group));
      for (int i = 16 * (group % 2); i < 16 * (group % 2) + 16; ++i) {
        const int third = thirds[i] >> (4 * half + group / 2) & 1;
        *out++ = step * static_cast<float>((numbers[i] >> group / 2 * 2 & 3) + 4 * third - 4);
      }
    }
  }
}

/// 8 scales and 8 leasts of 6 bits in 12 bytes.
struct SixBits {
  Block packed;
  int scale(int group) const { return group < 4 ? packed[group] & 63 : low(packed[group + 4]) | (packed[group - 4] >> 6) << 4; }
  int least(int group) const { return group < 4 ? packed[group + 4] & 63 : high(packed[group + 4]) | (packed[group] >> 6) << 4; }
};

/// d and the leasts' scale m; 8 scales and 8 leasts; 128 bytes of halves. Each of 8 groups of 32: d s q - m t.
void unpack_q4_k(Block block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  const SixBits six{block + 4};
  Block numbers = block + 16;
  for (int group = 0; group < 8; ++group) {
    const float scale = d * static_cast<float>(six.scale(group)), least = m * static_cast<float>(six.least(group));
    for (int i = 0; i < 32; ++i) *out++ = scale * static_cast<float>(group % 2 == 0 ? low(numbers[i]) : high(numbers[i])) - least;
    if (group % 2 == 1) numbers += 32;
  }
}

/// Unpacks a block like Q4_K's, with the fifth bits of all numbers in 32 bytes ahead of the halves.
void unpack_q5_k(Block block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  const SixBits six{block + 4};
  Block fifths = block + 16, numbers = block + 48;
  for (int group = 0; group < 8; ++group) {
    const float scale = d * static_cast<float>(six.scale(group)), least = m * static_cast<float>(six.least(group));
    for (int i = 0; i < 32; ++i) {
      const int q = (group % 2 == 0 ? low(numbers[i]) : high(numbers[i])) | (fifths[i] >> group & 1) << 4;
      *out++ = scale * static_cast<float>(q) - least;
    }
    if (group % 2 == 1) numbers += 32;
  }
}

/// d in f32, 256 numbers of 8 bits, and sums that products use: d q.
void unpack_q8_k(Block block, float* out) {
  float d = 0;
  std::memcpy(&d, block, sizeof d);
  for (int i = 0; i < 256; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[4 + i]));
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

/// The form of a type in the file.
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
                           {"Q4_0", DType::f32, 32, 18, unpack_q4_0},
                           {"Q4_1", DType::f32, 32, 20, unpack_q4_1},
                           {"Q5_0", DType::f32, 32, 22, unpack_q5_0},
                           {"Q5_1", DType::f32, 32, 24, unpack_q5_1},
                           {"Q8_0", DType::f32, 32, 34, unpack_q8_0},
                           {"Q2_K", DType::f32, 256, 84, unpack_q2_k},
                           {"Q3_K", DType::f32, 256, 110, unpack_q3_k},
                           {"Q4_K", DType::f32, 256, 144, unpack_q4_k},
                           {"Q5_K", DType::f32, 256, 176, unpack_q5_k},
                           {"Q6_K", DType::f32, 256, 210, unpack_q6_k},
                           {"Q8_K", DType::f32, 256, 292, unpack_q8_k},
                           {"IQ4_NL", DType::f32, 32, 18, unpack_iq4_nl},
                           {"IQ4_XS", DType::f32, 256, 136, unpack_iq4_xs}};

std::string known_types() {
  std::string out;
  for (const Form& form : kForms) out += (out.empty() ? "" : ", ") + std::string(form.type);
  return out;
}

HostArray array_of(const GgufTensor& tensor, std::span<const std::byte> bytes, std::string_view name, std::uint64_t& taken) {
  const auto fail = [&](const std::string& got, const std::string& expected, const std::string& advice) {
    throw Error(
        {.op = "gguf", .got = printable(std::string(name) + ": " + tensor.name + ": " + got), .expected = expected, .advice = advice});
  };
  const std::string damaged = "the file is truncated or damaged";
  const auto form = std::ranges::find(kForms, tensor.type, &Form::type);
  if (form == std::end(kForms))
    fail("a tensor of type " + tensor.type, "one of " + known_types(),
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
