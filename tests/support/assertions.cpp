#define TEGULA_ASSERTIONS template
#include "tests/support/assertions.h"
