#pragma once
// Words for measuring and comparing: do_bench, perf_report, assert_close, card_state.
#include "tegula/tegula.h"

#include "tegula/bench/assert_close.h"
#include "tegula/bench/do_bench.h"
#include "tegula/bench/perf_report.h"
#include "tegula/bench/power.h"
