#include "tegula/text/tokens/sentencepiece.h"

#include <bit>
#include <cstring>
#include <initializer_list>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/wire.h"
#include "tegula/text/tokens/bpe.h"
#include "tegula/text/tokens/precompiled.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/unigram.h"
#include "tegula/text/tokens/wordpiece.h"

namespace tegula::text {
namespace {

constexpr const char* kMark = "\u2581";  // ▁, the blank of SentencePiece

using io::Wire;
using Field = io::WireField;

/// The fields of a message of the file `name`.
io::WireReader fields_of(std::span<const std::byte> message, std::string_view name) {
  return {message,
          {.op = "sentencepiece", .name = name, .expected = "a SentencePiece model", .advice = "the file is truncated or no .model file"}};
}

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The known fields of a message, by sentencepiece_model.proto. Others could change the numbers that a text becomes, so they refuse the file.
struct Known {
  const char* message;
  std::uint64_t fields[2];  // a bit each

  constexpr Known(const char* of, std::initializer_list<int> numbers) : message(of), fields{} {
    for (const int number : numbers) fields[number / 64] |= std::uint64_t{1} << number % 64;
  }
  void require(const Field& field, std::string_view name) const {
    if (field.number < 128 && (fields[field.number / 64] >> field.number % 64 & 1) != 0) return;
    throw Error({.op = "sentencepiece",
                 .got = std::string(name) + ": the field " + std::to_string(field.number) + " of " + message,
                 .expected = "fields that Tegula knows",
                 .advice = "the file is damaged, or was written by a newer SentencePiece: its texts would become other numbers here"});
  }
};
// Most of the trainer's fields describe the making of the vocabulary, which is over: 3, 4, 24, 35 and 44 describe its use.
constexpr Known kModel{"the model", {1, 2, 3, 4}}, kPiece{"a piece", {1, 2, 3}}, kNormalizer{"normalizer_spec", {1, 2, 3, 4, 5, 6}},
    kTrainer{"trainer_spec", {1,  2,  3,  4,  5,  6,  7,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                              26, 30, 31, 32, 33, 34, 35, 36, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54}};

void read_piece(std::span<const std::byte> bytes, std::string_view name, SentencePieceModel& model) {
  io::WireReader message = fields_of(bytes, name);
  std::string piece;
  float score = 0;
  std::uint64_t kind = 1;
  for (Field field; message.next(field);) {
    kPiece.require(field, name);
    if (field.number == 1 && field.wire == Wire::Bytes) piece = text_of(field.bytes);
    if (field.number == 2 && field.wire == Wire::Fixed32) score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3 && field.wire == Wire::Varint) kind = field.value;
  }
  if (kind < 1 || kind > 6) message.fail("a piece of kind " + std::to_string(kind));
  model.pieces.push_back(std::move(piece));
  model.scores.push_back(score);
  model.kinds.push_back(static_cast<PieceKind>(kind));
}

/// The statements of a trainer_spec about the model.
struct Promised {
  bool told = false;
  std::uint64_t pieces = 0;
};

void read_trainer(std::span<const std::byte> bytes, std::string_view name, SentencePieceModel& model, Promised& promised) {
  io::WireReader message = fields_of(bytes, name);
  promised.told = true;
  for (Field field; message.next(field);) {
    kTrainer.require(field, name);
    if (field.number == 44 && field.wire == Wire::Bytes) model.unknown_surface = text_of(field.bytes);
    if (field.wire != Wire::Varint) continue;
    if (field.number == 4) promised.pieces = field.value;
    if (field.number == 24) model.blank_behind = field.value != 0;
    if (field.number == 3) {
      if (field.value < 1 || field.value > 4) message.fail("a model of type " + std::to_string(field.value));
      model.type = static_cast<SentencePieceModel::Type>(field.value);
    }
    if (field.number == 35) model.byte_fallback = field.value != 0;
  }
}

void read_normalizer(std::span<const std::byte> bytes, std::string_view name, SentencePieceModel& model) {
  io::WireReader message = fields_of(bytes, name);
  for (Field field; message.next(field);) {
    kNormalizer.require(field, name);
    if (field.number == 2 && field.wire == Wire::Bytes) model.rules = text_of(field.bytes);
    if (field.wire != Wire::Varint) continue;
    if (field.number == 3) model.dummy_prefix = field.value != 0;
    if (field.number == 4) model.remove_extra_blanks = field.value != 0;
    if (field.number == 5) model.escape_blanks = field.value != 0;
  }
}

}  // namespace

Tokenizer make_tokenizer(const SentencePieceModel& model, std::string_view op, std::string_view name) {
  const auto refuse = [&](std::string got, std::string expected) {
    throw Error({.op = std::string(op), .got = std::string(name) + ": " + std::move(got), .expected = std::move(expected)});
  };
  const std::size_t size = model.pieces.size();
  if (size == 0) refuse("no pieces", "a vocabulary");
  if (model.scores.size() != size || model.kinds.size() != size) refuse("pieces without a score or a kind", "one of each for every piece");
  Vocabulary vocabulary(model.pieces);
  std::vector<bool> normal(size);
  std::optional<Id> unknown;
  TokenizerParts parts;
  std::vector<std::string> kept;
  const std::string blank = model.escape_blanks ? kMark : " ";
  const Normalizer escaped = replace(std::string(" "), blank);
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<Id>(i);
    if (model.pieces[i].empty()) refuse("piece " + std::to_string(i) + ", which is empty", "pieces of text");
    if (vocabulary.find(model.pieces[i]) != id)
      refuse("the piece '" + printable(model.pieces[i].substr(0, 80)) + "' twice", "each piece once");
    normal[i] = model.kinds[i] == PieceKind::Normal || model.kinds[i] == PieceKind::UserDefined;
    if (model.kinds[i] == PieceKind::Unknown && !unknown) unknown = id;
    if (model.kinds[i] == PieceKind::UserDefined && model.type != SentencePieceModel::Type::Word) {  // all pieces there are whole words
      parts.added.push_back({.content = model.pieces[i], .id = id, .normalized = true, .form = escaped(model.pieces[i])});
      kept.push_back(model.pieces[i]);
    }
    if (model.kinds[i] == PieceKind::Unknown || model.kinds[i] == PieceKind::Control) {
      const bool is_shown = model.kinds[i] == PieceKind::Unknown && !model.unknown_surface.empty();
      parts.added.push_back({.content = model.pieces[i], .id = id, .special = !is_shown});
    }
  }
  const std::string unknown_token = unknown ? model.pieces[static_cast<std::size_t>(*unknown)] : "";
  switch (model.type) {
    case SentencePieceModel::Type::Unigram:
      parts.model = std::make_shared<Unigram>(std::move(vocabulary), std::vector<double>(model.scores.begin(), model.scores.end()), normal,
                                              UnigramOptions{.unknown = unknown, .byte_fallback = model.byte_fallback});
      break;
    case SentencePieceModel::Type::Bpe:
    case SentencePieceModel::Type::Char: {
      const BpeOptions options{
          .symbols = Symbols::Characters, .unknown = unknown_token, .fuse_unknown = true, .byte_fallback = model.byte_fallback};
      const std::vector<bool> none(size, false);
      parts.model = std::make_shared<Bpe>(
          Bpe::from_scores(std::move(vocabulary), model.scores, model.type == SentencePieceModel::Type::Bpe ? normal : none, options));
      break;
    }
    case SentencePieceModel::Type::Word:
      parts.model = std::make_shared<WholeWords>(std::move(vocabulary), unknown_token, Unknowns::Joined);
      break;
  }

  std::vector<Normalizer> steps{precompiled_normalizer(model.rules, op, name, std::move(kept))};
  if (model.remove_extra_blanks) steps.push_back(squeeze_blanks());
  if (model.dummy_prefix) steps.push_back(model.blank_behind ? append(" ") : prepend(" "));
  steps.push_back(escaped);
  parts.normalizer = chain(std::move(steps));
  if (model.type == SentencePieceModel::Type::Word) parts.splitter = split_by(blank, Delimiter::MergedWithNext);
  parts.decoder = sentencepiece_decoder({.unknown = unknown_token,
                                         .surface = model.unknown_surface,
                                         .strips_first = model.dummy_prefix || model.remove_extra_blanks,
                                         .strips_all = model.remove_extra_blanks});
  if (!model.before.empty() || !model.after.empty()) {
    for (const bool second : {false, true}) {
      Template frame;
      const auto put = [&](Template::value_type::Kind kind, Id type) {
        for (const Id id : model.before) frame.push_back({TemplateItem::Kind::Token, id, type});
        frame.push_back({kind, 0, type});
        for (const Id id : model.after) frame.push_back({TemplateItem::Kind::Token, id, type});
      };
      put(TemplateItem::Kind::First, 0);
      if (second) put(TemplateItem::Kind::Second, 1);
      (second ? parts.pair : parts.single) = std::move(frame);
    }
  }
  return Tokenizer(std::move(parts));
}

Tokenizer parse_sentencepiece(std::span<const std::byte> bytes, std::string_view name) {
  io::refuse_other_kinds(bytes, {io::FileKind::SentencePiece}, "sentencepiece", name, "a SentencePiece model");
  SentencePieceModel model;
  model.unknown_surface = " \u2047 ";  // ⁇
  Promised promised;
  io::WireReader message = fields_of(bytes, name);
  for (Field field; message.next(field);) {
    kModel.require(field, name);
    if (field.wire != Wire::Bytes) continue;
    if (field.number == 1) read_piece(field.bytes, name, model);
    if (field.number == 2) read_trainer(field.bytes, name, model, promised);
    if (field.number == 3) read_normalizer(field.bytes, name, model);
  }
  if (model.pieces.empty()) message.fail("no pieces");
  // The pieces come first: a file that was cut between two of them is whole messages.
  if (!promised.told) message.fail(std::to_string(model.pieces.size()) + " pieces and no trainer_spec behind them");
  if (model.pieces.size() < promised.pieces)
    message.fail(std::to_string(model.pieces.size()) + " pieces of the " + std::to_string(promised.pieces) + " that trainer_spec names");
  return make_tokenizer(model, "sentencepiece", name);
}

Tokenizer read_sentencepiece(const std::string& path) { return parse_sentencepiece(io::read_file(path, {.op = "sentencepiece"}), path); }

Tokenizer parse_llama2c_tokenizer(std::span<const std::byte> bytes, std::string_view name) {
  io::refuse_binary_kinds(bytes, "llama2c", name, "llama2c's tokenizer.bin");
  std::size_t at = 0;
  const auto take = [&](std::size_t size) {
    if (bytes.size() - at < size) {
      throw Error({.op = "llama2c",
                   .got = std::string(name) + ": the end of the data at byte " + std::to_string(bytes.size()),
                   .expected = std::to_string(size) + " bytes from byte " + std::to_string(at),
                   .advice = "the file is truncated or no tokenizer.bin"});
    }
    at += size;
    return bytes.subspan(at - size, size);
  };
  const auto word = [&] {
    std::uint32_t value = 0;
    std::memcpy(&value, take(4).data(), 4);
    return value;
  };
  SentencePieceModel model;
  model.type = SentencePieceModel::Type::Bpe;
  model.byte_fallback = true;
  model.remove_extra_blanks = false;
  word();  // the longest token
  while (at < bytes.size()) {
    model.scores.push_back(std::bit_cast<float>(word()));
    std::string piece = text_of(take(word()));
    const std::size_t id = model.pieces.size();
    if (id == 1 && piece == "\n<s>\n") piece = "<s>";  // as llama2.c prints them
    if (id == 2 && piece == "\n</s>\n") piece = "</s>";
    const bool byte = id >= 3 && id < 259 && piece.size() == 6 && piece.starts_with("<0x");
    model.kinds.push_back(id == 0 ? PieceKind::Unknown : id < 3 ? PieceKind::Control : byte ? PieceKind::Byte : PieceKind::Normal);
    model.pieces.push_back(replace(std::string(" "), kMark)(std::move(piece)));
  }
  model.before = {1};
  if (model.pieces.size() < 3) take(bytes.size() + 1);
  return make_tokenizer(model, "llama2c", name);
}

}  // namespace tegula::text
