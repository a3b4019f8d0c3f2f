// 64 copies of the shared library in one process: each thread-local variable with the initial-exec model takes a part
// of a block of 1664 bytes that all libraries loaded by dlopen share. Arguments: the library, a folder for its copies.
#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int copies = 64;
  const std::filesystem::path library = argv[1], folder = argv[2];
  std::filesystem::create_directories(folder);
  int loaded = 0;
  for (; loaded < copies; ++loaded) {
    const std::filesystem::path copy = folder / ("libreel_copy_" + std::to_string(loaded) + ".so");
    std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
    void* handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(copy);
    if (!handle) {
      std::printf("copy %d: %s\n", loaded + 1, dlerror());
      break;
    }
    // reel::set_tracing(bool): makes this thread's state, of this copy.
    const auto set_tracing = reinterpret_cast<void (*)(bool)>(dlsym(handle, "_ZN4reel11set_tracingEb"));
    if (!set_tracing) {
      std::printf("copy %d has no set_tracing\n", loaded + 1);
      break;
    }
    set_tracing(true);
    set_tracing(false);
  }
  std::printf("%d of %d copies loaded\n", loaded, copies);
  return loaded != copies;
}
