// Fuzzing of files: npy, npz, safetensors, csv, and trees with the state of an optimiser and a generator. The first
// byte selects the reader unless REEL_FUZZ_READER does; the others are the file. A reader must return or throw IoError,
// and must not allocate more than it promises. Built with libFuzzer this is `test/long fuzz`.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <reel/io.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "corpus.hpp"

using namespace reel;

namespace {

// A file in memory, rewritten for each input, under the names by which load tells formats.
class MemoryFile {
 public:
  MemoryFile() {
    if (descriptor_ < 0 || !mkdtemp(folder_.data())) std::abort();
    for (const char* name : {"/x.npz", "/x.safetensors"}) std::filesystem::create_symlink(path(), folder_ + name);
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void write(const std::uint8_t* data, std::size_t size) const {
    if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size))
      std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  std::string npz() const { return folder_ + "/x.npz"; }
  std::string safetensors() const { return folder_ + "/x.safetensors"; }

 private:
  int descriptor_ = memfd_create("fuzz", 0);
  std::string folder_ = (std::filesystem::temp_directory_path() / "reel-fuzz-XXXXXX").string();
};

// What a training run keeps in a file: variables, tensors, an optimiser and a generator.
struct Run {
  struct Model {
    Variable w{tensor({1., 2.}), "w"};
    Tensor t = scalar(3.f);
    Tensor any;
    auto leaves() { return std::tie(w, t, any); }
    auto names() const { return std::array{"w", "t", "any"}; }
  } model;
  Adam adam;
  Generator generator{7};

  void save_to(const std::string& path) {
    model.any = scalar(true);
    adam.step(tensor({.5, .25}), model.w);
    save(path, model, adam, generator);
  }
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

// A loaded run can continue; a refused one is unchanged.
NamedTensors load_run(const std::string& path) {
  Run run;
  try {
    load(path, run.model, run.adam, run.generator);
  } catch (const IoError&) {
    require(array_equal(run.model.w, tensor({1., 2.})) && run.model.t.item() == 3 && !run.model.any.defined() &&
                run.adam.options.learning_rate == AdamOptions().learning_rate && run.generator.seed() == 7,
            "a file that is refused changes a tree");
    throw;
  }
  try {
    run.adam.step(tensor({.5, .25}), run.model.w);
  } catch (const ValueError&) {  // of an option that a step refuses
  }
  return {{"w", run.model.w.read()}, {"t", run.model.t}, {"any", run.model.any}};
}

// What a reader does with a file, and the most bytes of tensors that it may make for each byte of the file.
struct Reader {
  std::string_view name;
  NamedTensors (*read)(const MemoryFile& file);
  std::size_t growth;
};

constexpr std::size_t inflated = 1032;  // bytes that a deflated one can become at most
constexpr std::array<Reader, 7> readers{{
    {"npy",
     [](const MemoryFile& file) {
       return NamedTensors{{"x", load_npy(file.path())}};
     },
     2},
    {"npz", [](const MemoryFile& file) { return load_npz(file.path()); }, inflated},
    {"safetensors", [](const MemoryFile& file) { return load_safetensors(file.path()); }, 2},
    {"mapped", [](const MemoryFile& file) { return load_safetensors(file.path(), {.mapped = true}); }, 2},
    {"csv",
     [](const MemoryFile& file) {
       return NamedTensors{{"x", load_csv(file.path())}};
     },
     8},
    {"npz_run", [](const MemoryFile& file) { return load_run(file.npz()); }, inflated},
    {"safetensors_run", [](const MemoryFile& file) { return load_run(file.safetensors()); }, 2},
}};
// The one that REEL_FUZZ_READER names, or null.
const Reader* chosen_reader() {
  const char* name = std::getenv("REEL_FUZZ_READER");
  if (!name) return nullptr;
  const auto found = std::find_if(readers.begin(), readers.end(), [&](const Reader& r) { return r.name == name; });
  require(found != readers.end(), "REEL_FUZZ_READER names no reader");
  return &*found;
}
constexpr std::size_t headers = 256 << 10;  // of blocks, and the counters' error

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Reader* const chosen = chosen_reader();
  static const MemoryFile file;
  if (size == 0) return 0;
  const Reader& reader = chosen ? *chosen : readers[data[0] % readers.size()];
  file.write(data + 1, size - 1);
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  try {
    for (const auto& [name, x] : reader.read(file))
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
  Run().save_to(made + "/run.npz");
  Run().save_to(made + "/run.safetensors");
  const std::vector<std::string> seeds{std::string(1, '\0') + copied(made + "/x.npy"),
                                       '\1' + copied(made + "/x.npz"),
                                       '\1' + copied(made + "/y.npz"),
                                       '\2' + copied(made + "/x.safetensors"),
                                       '\3' + copied(made + "/x.safetensors"),
                                       "\4"
                                       "1,-2.5e3\n+inf , nan\n",
                                       '\5' + copied(made + "/run.npz"),
                                       '\6' + copied(made + "/run.safetensors")};
  std::filesystem::remove_all(made);
  return run_corpus(count, arguments, seeds, 10000);
}
#endif
