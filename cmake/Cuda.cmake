# The CUDA machine: libtegula_cuda.so, opened at run time where there is a driver. It is linked against the driver's stub only; cuBLASLt,
# cuDNN and NVRTC are opened by it when they are needed. It has core/ and tile/ inside and needs no symbol of the program.

find_package(CUDAToolkit QUIET)
if(TEGULA_CUDA STREQUAL "ON" AND NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "TEGULA_CUDA is ON and the CUDA toolkit was not found: set CUDAToolkit_ROOT")
endif()
if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cuda_driver)
  message(STATUS "CUDA toolkit not found: building for the CPU only")
  return()
endif()

set(cuda_sources ${all_sources})
list(FILTER cuda_sources INCLUDE REGEX "/tegula/cuda/")
list(FILTER cuda_sources EXCLUDE REGEX "${tegula_toolkit_free}")
add_library(tegula_cuda MODULE ${cuda_sources})
target_sources(tegula_cuda PRIVATE $<TARGET_OBJECTS:tegula_base>)
target_include_directories(tegula_cuda PRIVATE "${PROJECT_SOURCE_DIR}" "${tegula_embedded}")
add_dependencies(tegula_cuda tegula_base)  # which makes the headers of CUDA text
target_include_directories(tegula_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(tegula_cuda PRIVATE tegula_settings nlohmann_json::nlohmann_json Threads::Threads CUDA::cuda_driver ${CMAKE_DL_LIBS})
# Lazy binding: a driver that is too old for some function can still be asked for its version.
target_link_options(tegula_cuda PRIVATE "LINKER:-z,lazy" "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/tegula_cuda.map")
if(NOT TEGULA_SANITIZE)
  target_link_options(tegula_cuda PRIVATE "LINKER:--no-undefined")
endif()
set_target_properties(tegula_cuda PROPERTIES
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/tegula_cuda.map"
  # where NVRTC and cuBLASLt of this toolkit are looked for when the loader does not know them; never the stub of the driver
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
tegula_units(tegula_cuda)
tegula_precompile(tegula_cuda)
if(TEGULA_INSTALL)
  install(TARGETS tegula_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# What compiles beside a process (tegula/cuda/compiler/nvrtc_process.h); it lies beside the library.
add_executable(tegula_nvrtc tegula/cuda/compiler/nvrtc/main.cpp $<TARGET_OBJECTS:tegula_base>)
target_include_directories(tegula_nvrtc PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(tegula_nvrtc PRIVATE tegula_settings nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(tegula_nvrtc PROPERTIES
  OUTPUT_NAME tegula-nvrtc BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
if(TEGULA_INSTALL)
  install(TARGETS tegula_nvrtc RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
