// Fuzzing of files: npy, npz, safetensors and csv. The first byte chooses the reader, the others are the file. A reader
// returns or throws IoError, and allocates no more than it promises. Built with libFuzzer this is `test/long fuzz`.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <reel/io.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>

#include "corpus.hpp"

using namespace reel;

namespace {

// A file in memory, written anew for each input.
std::string file_of(const std::uint8_t* data, std::size_t size) {
  static const int descriptor = memfd_create("fuzz", 0);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  return "/proc/self/fd/" + std::to_string(descriptor);
}

// What a reader does with a file, and the most bytes of tensors that it may make for each byte of the file.
struct Reader {
  NamedTensors (*read)(const std::string& path);
  std::size_t growth;
};

constexpr std::array<Reader, 5> readers{{
    {[](const std::string& path) {
       return NamedTensors{{"x", load_npy(path)}};
     },
     2},
    {[](const std::string& path) { return load_npz(path); }, 1032},  // what deflated bytes can inflate to
    {[](const std::string& path) { return load_safetensors(path); }, 2},
    {[](const std::string& path) { return load_safetensors(path, {.mapped = true}); }, 2},
    {[](const std::string& path) {
       return NamedTensors{{"x", load_csv(path)}};
     },
     8},
}};
constexpr std::size_t headers = 256 << 10;  // of blocks, and the counters' error

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Reader& reader = readers[data[0] % readers.size()];
  const std::string path = file_of(data + 1, size - 1);
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  try {
    for (const auto& [name, x] : reader.read(path))
      if (x.size() > 0) (void)x.to_vector<complex128>();  // every element is there
  } catch (const IoError&) {
  }
  const std::int64_t peak = memory_stats().peak_bytes - before;
  if (peak > static_cast<std::int64_t>(reader.growth * size + headers)) {
    std::fprintf(stderr, "wrong: %lld bytes for a file of %zu\n", static_cast<long long>(peak), size);
    std::abort();
  }
  return 0;
}

#ifndef REEL_LIBFUZZER
int main(int count, char** arguments) {
  const auto copied = [](const std::string& from) {
    std::ifstream in(from, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::string made = (std::filesystem::temp_directory_path() / "reel-fuzz-XXXXXX").string();
  if (!mkdtemp(made.data())) return 1;
  const Tensor x = tensor({{1., -2.}, {3., 4.}});
  const NamedTensors two{{"a", x}, {"b", cast(x, DType::boolean)}};
  save_npy(made + "/x.npy", x);
  save_npz(made + "/x.npz", two);
  save_npz(made + "/y.npz", two, {.compressed = true});
  save_safetensors(made + "/x.safetensors", two, {{"k", "v"}});
  const std::vector<std::string> seeds{std::string(1, '\0') + copied(made + "/x.npy"),
                                       '\1' + copied(made + "/x.npz"),
                                       '\1' + copied(made + "/y.npz"),
                                       '\2' + copied(made + "/x.safetensors"),
                                       '\3' + copied(made + "/x.safetensors"),
                                       "\4"
                                       "1,-2.5e3\n+inf , nan\n"};
  std::filesystem::remove_all(made);
  return run_corpus(count, arguments, seeds, 10000);
}
#endif
