# CUDA text that NVRTC compiles at run time lives in .cuh files, read and formatted as code. x.cuh becomes x.cuh.h in the build folder, in which
# each `#pragma region Name` … `#pragma endregion` is `constexpr const char* kName`, in a namespace without a name: one source includes it.
# What C++ includes as well has the pragmas in comments, `// #pragma region Name`. Texts of other kinds, where the pragma is a comment, are embedded the same way.
#
# As a script (-D FROM=x.cuh -D TO=x.cuh.h -P) it writes one such header; included, tegula_embed_cuda(target sources…) does for a target's sources.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${FROM}" text)
  string(REGEX REPLACE "\n(// )?#pragma region ([A-Za-z0-9]+)\n" "\nconstexpr const char* k\\2 = R\"cuda(\n" text "${text}")
  string(REGEX REPLACE "\n(// )?#pragma endregion\n" "\n)cuda\";\n" text "${text}")
  file(WRITE "${TO}" "namespace tegula::gpu {\nnamespace {\n${text}}\n}\n")
  return()
endif()

set(tegula_embedded "${PROJECT_BINARY_DIR}/embedded")
set(tegula_embed_script "${CMAKE_CURRENT_LIST_FILE}")
function(tegula_embed_cuda target)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${source}")
    set(header "${tegula_embedded}/${name}.h")
    add_custom_command(OUTPUT "${header}" DEPENDS "${source}" "${tegula_embed_script}" VERBATIM
                       COMMAND ${CMAKE_COMMAND} -D "FROM=${source}" -D "TO=${header}" -P "${tegula_embed_script}")
    target_sources(${target} PRIVATE "${header}")
  endforeach()
  target_include_directories(${target} PRIVATE "${tegula_embedded}")
endfunction()
