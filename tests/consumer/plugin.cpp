#include <tegula/tegula.h>

/// The sum of count ones.
extern "C" float sum_of_ones(int count) { return tegula::sum(tegula::ones({count})).item(); }
