# Configuring without one of the packages that Tegula needs must fail with one sentence, which names the package. Run with
# cmake -D SOURCE=… -D BUILD=… -D COMPILER=… -P; with -D PREFIX=…, SOURCE is a project that does find_package(tegula) of what is installed there.
set(common -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER} -D TEGULA_CUDA=OFF -D TEGULA_MPI=OFF -D TEGULA_FEW_UNITS=OFF)
if(PREFIX)
  list(APPEND common -D CMAKE_PREFIX_PATH=${PREFIX})
endif()

# expect_missing(definitions… PACKAGES packages…): the one message of a configuration with these definitions names all packages in one command.
function(expect_missing)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEFINE;PACKAGES")
  list(TRANSFORM arg_DEFINE PREPEND -D)
  file(REMOVE "${BUILD}/CMakeCache.txt")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} ${common} ${arg_DEFINE}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(REGEX MATCHALL "CMake Error" errors "${output}")
  list(LENGTH errors count)
  list(JOIN arg_PACKAGES " " packages)
  string(FIND "${output} " "apt-get install ${packages} " place)
  if(code EQUAL 0 OR place LESS 0 OR NOT count EQUAL 1)
    message(FATAL_ERROR "${arg_DEFINE}: expected one error that says `apt-get install ${packages}`, got ${count}, code ${code}:\n${output}")
  endif()
endfunction()

# A compiler that is too old is named, and no package for it.
file(WRITE "${BUILD}/old_compiler.cmake" "set(CMAKE_CXX_COMPILER_VERSION 11)\nset(CMAKE_DISABLE_FIND_PACKAGE_OpenMP ON)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} ${common} -D CMAKE_PROJECT_INCLUDE=${BUILD}/old_compiler.cmake
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(code EQUAL 0 OR NOT output MATCHES "needs GCC 12 or Clang 16 .std::source_location., and this is [A-Za-z]+ 11:" OR output MATCHES "apt-get install")
  message(FATAL_ERROR "expected one sentence about the compiler, got code ${code}:\n${output}")
endif()
file(REMOVE "${BUILD}/CMakeCache.txt")

if(COMPILER MATCHES "clang\\+\\+-([0-9]+)")
  set(openmp libomp-${CMAKE_MATCH_1}-dev)
else()
  set(openmp g++)
endif()
set(no_openmp CMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON)
expect_missing(DEFINE ${no_openmp} PACKAGES ${openmp})
expect_missing(DEFINE tegula_dnnl_LIBRARY=OFF tegula_hwy_INCLUDE_DIR=OFF tegula_utf8proc_LIBRARY=OFF tegula_pcre2_LIBRARY=OFF tegula_csv_LIBRARY=OFF
                      tegula_png_LIBRARY=OFF tegula_zlib_LIBRARY=OFF tegula_crypto_LIBRARY=OFF ${no_openmp}
               PACKAGES libdnnl-dev libhwy-dev libutf8proc-dev libpcre2-dev libcsv-dev libpng-dev zlib1g-dev libssl-dev ${openmp})
if(PREFIX)  # what the installed library was built with
  expect_missing(DEFINE tegula_jpeg_LIBRARY=OFF PACKAGES libjpeg-dev)
else()
  expect_missing(DEFINE CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON PACKAGES nlohmann-json3-dev)
  expect_missing(DEFINE CLI11_INCLUDE_DIR=OFF PACKAGES libcli11-dev)
  expect_missing(DEFINE CMAKE_DISABLE_FIND_PACKAGE_GTest=ON PACKAGES libgtest-dev)
endif()
