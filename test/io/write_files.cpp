// Writes files for test/tools/files/read_files.py: write_files FOLDER.
#include <reel/io.hpp>
#include <reel/reel.hpp>

using namespace reel;

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
}
