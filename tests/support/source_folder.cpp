#include "tests/support/source_folder.h"

namespace tegula {

std::string source_folder() { return TEGULA_SOURCE_DIR; }

}  // namespace tegula
