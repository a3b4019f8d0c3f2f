// Writes files for test/tools/files/{read_files,tape_pages}.py: write_files FOLDER.
#include <fstream>
#include <reel/io.hpp>
#include <reel/reel.hpp>
#include <reel/tape_page.hpp>

using namespace reel;

namespace {

// Six ops of a small network with lines and times, then one with a name that would be a script.
std::string network_page(const std::string& trace) {
  const Tensor x = reshape(linspace(-1, 1, 24), {8, 3});
  const Variable w1(full({3, 16}, 0.1), "w1"), b1(zeros({16}), "b1"), w2(full({16, 1}, 0.2), "w2");
  const ChromeTraceGuard times(trace);
  GradientTape tape({.persistent = true});
  const Tensor loss = mean(square(matmul(tanh(matmul(x, w1) + b1), w2)));
  const Tensor end = full({}, 1.0);
  record_operation("</script><script>document.title='run'</script>", {&loss, 1}, {&end, 1},
                   [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  tape.stop();
  tape.gradient(end, w1);
  return tape_page(tape, end);
}

std::string deep_page() {
  const Tensor x = ones({3});
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 2500; ++i) y = sin(y) + x;
  return tape_page(tape);
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = std::string(arguments[1]) + "/";
  const Tensor x = reshape(arange(6.), {2, 3});
  const NamedTensors tensors{{"matrix", x},
                             {"transposed", transpose(x)},
                             {"float32", cast(x, DType::float32)},
                             {"flags", x > 2},
                             {"bytes", cast(x, DType::uint8)},
                             {"number", scalar(std::int64_t{7})},
                             {"empty", zeros({0, 3})},
                             {"größe", scalar(1.5)}};
  for (const auto& [name, tensor] : tensors) save_npy(folder + name + ".npy", tensor);
  save_npz(folder + "stored.npz", tensors);
  save_npz(folder + "deflated.npz", tensors, {.compressed = true});
  save_safetensors(folder + "all.safetensors", tensors, {{"maker", "reel"}});
  std::ofstream(folder + "network.html") << network_page(folder + "trace.json");
  std::ofstream(folder + "deep.html") << deep_page();
  std::ofstream(folder + "empty.html") << tape_page(GradientTape());
}
