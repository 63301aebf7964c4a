#include "tegula/tile/passes/parameters.h"

namespace tegula::tile {

void fix_parameter(Program& program, std::int64_t index, std::int64_t value) {
  for (Instruction& one : program.instructions) {
    if (one.word != Word::Parameter || one.attribute != index) continue;
    one.word = Word::Constant;
    one.attribute = 0;
    one.integer = value;
  }
}

void drop_parameter(Program& program, std::int64_t index) {
  program.parameters.erase(program.parameters.begin() + index);
  for (Instruction& one : program.instructions) {
    if (one.word != Word::Parameter || one.attribute < index) continue;
    if (one.attribute > index) {
      --one.attribute;
      continue;
    }
    one.word = Word::Constant;  // unused, and for no parameter
    one.type = {DType::i64, false, {}};
    one.attribute = 0;
  }
}

}  // namespace tegula::tile
