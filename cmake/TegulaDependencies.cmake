# What the library links. Read by the build and, installed beside tegulaConfig.cmake, by find_package(tegula): one list for both.
#
# oneDNN and Highway are looked up by header and library: the CMake files that distributions ship for them differ
# (Debian's oneDNN asks for OpenCL, which a CPU user does not have).
include(CMakeFindDependencyMacro)

macro(tegula_find_library target header library package)
  if(NOT TARGET ${target})
    find_path(${library}_INCLUDE_DIR ${header})
    find_library(${library}_LIBRARY ${library})
    mark_as_advanced(${library}_INCLUDE_DIR ${library}_LIBRARY)
    if(NOT ${library}_INCLUDE_DIR OR NOT ${library}_LIBRARY)
      message(FATAL_ERROR "${header} or lib${library} not found: install ${package} (scripts/setup.sh does)")
    endif()
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${library}_LIBRARY}"
                          INTERFACE_INCLUDE_DIRECTORIES "${${library}_INCLUDE_DIR}")
  endif()
endmacro()

tegula_find_library(tegula::dnnl oneapi/dnnl/dnnl.hpp dnnl libdnnl-dev)
tegula_find_library(tegula::hwy hwy/highway.h hwy libhwy-dev)
tegula_find_library(tegula::utf8proc utf8proc.h utf8proc libutf8proc-dev)
tegula_find_library(tegula::pcre2 pcre2.h pcre2-8 libpcre2-dev)
tegula_find_library(tegula::csv csv.h csv libcsv-dev)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(PNG)
find_dependency(ZLIB)
find_dependency(Threads)

# Without these the readers of their files say which package is missing.
set(tegula_optional "")
find_package(JPEG QUIET)
if(JPEG_FOUND)
  list(APPEND tegula_optional JPEG::JPEG)
endif()
find_path(zip_INCLUDE_DIR zip.h)
find_library(zip_LIBRARY zip)
mark_as_advanced(zip_INCLUDE_DIR zip_LIBRARY)
if(zip_INCLUDE_DIR AND zip_LIBRARY)
  tegula_find_library(tegula::zip zip.h zip libzip-dev)
  list(APPEND tegula_optional tegula::zip)
endif()
