#pragma once
// interface.cuh for the host's side.

#include "tegula/emulator/interface.cuh"
