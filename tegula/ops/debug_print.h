#pragma once
// A look at a value in the middle of a compiled function.

#include <string>

#include "tegula/graph/tensor.h"

namespace tegula {

/// x itself, which is printed whenever it is computed, as Tensor::print prints it, with `name` and the line of the call:
///   h = debug_print(relu(fc(x)), "h");     // tegula: debug_print: h at net.cpp:12: [0, 0.5, 1.25]  f32(3,)
/// The text goes where warnings go: to stderr, or to the handler that set_warning_handler names. Works in jit at every call, in checkpoint (where the value may be
/// computed twice), under grad (a gradient passes as if nothing stood there), and in the body of a loop, where the result must be used: a body runs what its
/// results need. Outside of jit x is computed at once. Texts come in the order of the program. On a device that queues its work the host prints when the
/// device comes to it, also in recordings, which may be after the call has returned: default_device().synchronize() waits for it. The values travel to the host
/// and back, so it is for looking, not for keeping.
Tensor debug_print(const Arg& x, const std::string& name = "");

}  // namespace tegula
