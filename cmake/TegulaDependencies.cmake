# What the library links. Read by the build and, installed beside tegulaConfig.cmake, by find_package(tegula): one list for both.
# Whatever is missing is collected in `tegula_missing`, for one sentence that names the packages.
#
# Libraries are looked up by header and library: the CMake files that distributions ship for them differ (Debian's oneDNN asks for OpenCL, which a
# CPU user does not have). A program links those alone whose symbols it uses.

set(tegula_missing "")

# tegula_need(name package found): notes a missing dependency and its Debian package.
macro(tegula_need name package)
  if(NOT (${ARGN}))
    list(APPEND tegula_missing "${name} (${package})")
  endif()
endmacro()

# tegula_missing_sentence(result): of all that is missing, or empty. A compiler that is too old comes first: packages for it would not help.
function(tegula_missing_sentence result)
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
     OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16))
    set(${result} "Tegula needs GCC 12 or Clang 16 (std::source_location), and this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: choose another compiler, \
-D CMAKE_CXX_COMPILER=g++" PARENT_SCOPE)
  elseif(tegula_missing)
    list(REMOVE_DUPLICATES tegula_missing)
    list(JOIN tegula_missing ", " names)
    string(REGEX MATCHALL "\\(([^)]+)\\)" packages "${tegula_missing}")
    list(JOIN packages " " packages)
    string(REGEX REPLACE "[()]" "" packages "${packages}")
    set(${result} "Tegula needs what was not found here: ${names}; on Debian and Ubuntu: apt-get install ${packages}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# An imported target that the linker drops from a program which uses none of its symbols, as png is by one without pictures.
macro(tegula_link_when_used target library include_dir)
  if(NOT TARGET ${target})
    set(tegula_link "${library}")
    get_filename_component(tegula_folder "${library}" DIRECTORY)
    if(tegula_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)  # elsewhere CMake must see the file, for the run path
      set(tegula_link "-Wl,--push-state,--as-needed,${library},--pop-state")
    endif()
    add_library(${target} INTERFACE IMPORTED)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${include_dir}" INTERFACE_LINK_LIBRARIES "${tegula_link}")
  endif()
endmacro()

macro(tegula_find_library name header library package)
  find_path(tegula_${name}_INCLUDE_DIR ${header})
  find_library(tegula_${name}_LIBRARY ${library})
  mark_as_advanced(tegula_${name}_INCLUDE_DIR tegula_${name}_LIBRARY)
  if(tegula_${name}_INCLUDE_DIR AND tegula_${name}_LIBRARY)
    tegula_link_when_used(tegula::${name} "${tegula_${name}_LIBRARY}" "${tegula_${name}_INCLUDE_DIR}")
  endif()
  tegula_need(${header} ${package} TARGET tegula::${name})
endmacro()

tegula_find_library(dnnl oneapi/dnnl/dnnl.hpp dnnl libdnnl-dev)
tegula_find_library(hwy hwy/highway.h hwy libhwy-dev)
tegula_find_library(utf8proc utf8proc.h utf8proc libutf8proc-dev)
tegula_find_library(pcre2 pcre2.h pcre2-8 libpcre2-dev)
tegula_find_library(csv csv.h csv libcsv-dev)
tegula_find_library(png png.h png libpng-dev)
tegula_find_library(zlib zlib.h z zlib1g-dev)
tegula_find_library(crypto openssl/hmac.h crypto libssl-dev)
set(tegula_openmp_package g++)  # GCC brings its own
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  string(REGEX MATCH "^[0-9]+" tegula_openmp_package "${CMAKE_CXX_COMPILER_VERSION}")
  set(tegula_openmp_package libomp-${tegula_openmp_package}-dev)
endif()
find_package(OpenMP QUIET COMPONENTS CXX)
tegula_need(OpenMP ${tegula_openmp_package} TARGET OpenMP::OpenMP_CXX)
find_package(Threads QUIET)
tegula_need(pthreads libc6-dev TARGET Threads::Threads)

# Without these the readers of their files say which package is missing. A static library that was built with them needs them at every link.
set(tegula_optional "")
foreach(optional "jpeg jpeglib.h jpeg libjpeg-dev" "zip zip.h zip libzip-dev" "expat expat.h expat libexpat1-dev")
  string(REPLACE " " ";" optional "${optional}")
  list(GET optional 0 tegula_name)
  set(tegula_missing_before ${tegula_missing})
  tegula_find_library(${optional})
  if(TARGET tegula::${tegula_name})
    list(APPEND tegula_optional tegula::${tegula_name})
  elseif(NOT tegula_name IN_LIST tegula_built_with)
    set(tegula_missing ${tegula_missing_before})
  endif()
endforeach()

# Without it models in ONNX files are neither read nor written. Newer releases come with a CMake package, which knows the libraries behind them; for Debian 12's
# there is CMake's own. A program that is built with an installed Tegula needs no protoc.
find_package(protobuf CONFIG QUIET)
if(NOT TARGET protobuf::libprotobuf-lite)
  find_package(Protobuf MODULE QUIET)
endif()
if(protobuf IN_LIST tegula_built_with)
  tegula_need(protobuf libprotobuf-dev TARGET protobuf::libprotobuf-lite)
endif()
