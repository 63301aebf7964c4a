#include "tegula/tile/atomic.h"

namespace tegula::tile {

Word word_of(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::Add: return Word::Add;
    case AtomicKind::Max: return Word::Max;
    case AtomicKind::Min: return Word::Min;
    case AtomicKind::And: return Word::And;
    case AtomicKind::Or: return Word::Or;
    case AtomicKind::Xor: return Word::Xor;
    default: return Word::Select;
  }
}

std::string to_string(const Atomic& atomic) {
  static constexpr const char* kKinds[] = {"add", "max", "min", "and", "or", "xor", "xchg", "cas"};
  static constexpr const char* kSems[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr const char* kScopes[] = {"cta", "gpu", "sys"};
  return std::string(kKinds[static_cast<std::size_t>(atomic.kind)]) + " " + kSems[static_cast<std::size_t>(atomic.sem)] + " " +
         kScopes[static_cast<std::size_t>(atomic.scope) % 3];
}

}  // namespace tegula::tile
