# Where it builds for Windows by GCC's or Clang's GNU target, upstream expects to be on Windows: commands of its shell, names without case.
if(MINGW)
  unset(MINGW)
  file(WRITE "${CMAKE_BINARY_DIR}/case/Windows.h" "#include <windows.h>\n")
  include_directories(SYSTEM "${CMAKE_BINARY_DIR}/case")
endif()
