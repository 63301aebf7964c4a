#pragma once
// Long rows in shared memory.
//
// A row that is too long for the registers of a block is copied into shared memory, asynchronously and as it is stored: every thread copies
// the vectors that the layout gives it and reads them back for each pass over the row, so no barrier is needed. Nothing else of the row's
// length is kept: values between a load and a reduction or a store are computed again in each pass. The registers are left to
// threads, so that several rows are in flight on one multiprocessor. A cluster works on a few rows together: blocks meet once for all of
// them, and numbers that meet every row are read once.

#include <set>

#include "tegula/simt/analysis.h"
#include "tegula/simt/decide/layout.h"

namespace tegula::gpu {

struct StagedRows {
  bool possible = false;
  std::set<tile::Id> staged;  // loads that lie in shared memory
  std::set<tile::Id> direct;  // loads that one pass alone needs: it reads them itself
  int bytes = 0;  // of the staged elements in one column, of all rows
  int direct_bytes = 0;  // of the direct ones
};

/// The rows that could be staged in a program whose largest tile is one row or a few; `vector`: elements in one access.
StagedRows find_staged_rows(const Analysis& analysis, int vector);

}  // namespace tegula::gpu
