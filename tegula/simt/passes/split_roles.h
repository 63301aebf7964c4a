#pragma once
// Lets a warp of its own copy the tiles of the kernel's loop (Kernel::copiers), and the others compute.
// If an iteration's last product is begun in the next one (For::Tiles::behind), the first iteration, which has none before it, stands ahead of the loop, and the
// product of the last one behind it; the copying warp has three idle beside it then: the others have its registers.
// If there are several products, each tile has counters of its own (For::Tiles::apart). Groups of four warps may take turns at them (For::Tiles::turns).
// Where blocks of a cluster have parts of the sums, each copying warp brings its shares to all of them: a stage is free when the warps of all blocks have left it.
// Why: address arithmetic and waiting for a free stage stand in no product's way, no iteration has a barrier of the block, and where blocks stay the next instance's
// tiles come while results are stored. In turn one group computes what lies between its products while another one multiplies.
// Why here: loops still say what they copy ahead; fetch_tiles takes the loops that are left.

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Does nothing where no thread copies for the others.
void split_roles(Kernel& kernel);
/// Runs behind all passes that place barriers: barriers of the threads that compute are theirs alone.
void name_team_barriers(Kernel& kernel);

}  // namespace tegula::simt
