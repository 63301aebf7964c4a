// Parts of the pretended driver that only kernels of a user's own, or tiles of tensors, ask for. "paper" takes them and does nothing.

#include <cuda.h>

#include <cstddef>

extern "C" {

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr, unsigned short, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr, unsigned, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
/// Variables are 256 bytes of one's own.
CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr* at, std::size_t* bytes, CUmodule, const char*) {
  static unsigned char memory[256];
  return *at = reinterpret_cast<CUdeviceptr>(memory), *bytes = sizeof memory, CUDA_SUCCESS;
}
/// As the real one, it refuses rows that do not begin at multiples of 16 bytes.
CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address, const cuuint64_t*,
                                        const cuuint64_t* strides, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                        CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (strides[0] % 16 != 0 || reinterpret_cast<cuuint64_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  map->opaque[0] = reinterpret_cast<cuuint64_t>(address);
  return CUDA_SUCCESS;
}

}  // extern "C"
