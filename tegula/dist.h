#pragma once
// Several ranks: collectives, and ways to share out a training or a network among them.
#include "tegula/tegula.h"

#include "tegula/dist/collectives/collectives.h"   // dist::all_reduce, dist::all_gather, …
#include "tegula/dist/parallel/counted_rows.h"     // dist::CountedRows
#include "tegula/dist/parallel/tensor_parallel.h"  // dist::cross_entropy, dist::copy_to_ranks, …
#include "tegula/dist/server/parameter_server.h"  // dist::serve_parameters, dist::ServedParameters
#include "tegula/nn/tensor_parallel.h"             // dist::tensor_parallel
#include "tegula/train/data_parallel.h"            // dist::data_parallel
#include "tegula/train/pipeline.h"                 // dist::Pipeline
