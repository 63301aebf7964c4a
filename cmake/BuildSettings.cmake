# How our own code is compiled: the interface target tegula_settings carries warnings and sanitizers.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL)
  find_program(CCACHE ccache)
  mark_as_advanced(CCACHE)
  if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()

add_library(tegula_settings INTERFACE)
target_compile_options(tegula_settings INTERFACE -Wall -Wextra
  -Wno-missing-field-initializers)  # option structs are filled by name, the rest has defaults
if(NOT PROJECT_IS_TOP_LEVEL)  # in a project without a build type the library is fast all the same
  target_compile_options(tegula_settings INTERFACE $<$<STREQUAL:$<CONFIG>,>:-O2>)
endif()
if(TEGULA_WERROR)
  target_compile_options(tegula_settings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tegula_settings INTERFACE --param=ggc-min-heapsize=1000000)  # KB: GCC frees nothing below that
  target_compile_options(tegula_settings INTERFACE -Wno-maybe-uninitialized)  # false alarms on std::optional and in instrumented code
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(tegula_settings INTERFACE -Wno-restrict)  # false alarms on "text" + std::string, GCC bug 105651
  endif()
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tegula_settings INTERFACE -Wno-deprecated-declarations)  # libstdc++ 12's stable_sort uses what C++17 deprecated
endif()

# Sanitizers reach every target, also those that only link the library.
if(TEGULA_SANITIZE)
  add_compile_options(-fsanitize=${TEGULA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TEGULA_SANITIZE})
endif()
