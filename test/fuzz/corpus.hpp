// A corpus for programs that are built without libFuzzer: every seed, cut at every byte, with every bit flipped.
// Given a folder, such a program writes the seeds there, for libFuzzer to start from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Runs the corpus, given the arguments of main, and returns its exit status: a failure if there were fewer than
/// `least` inputs. A wrong result aborts.
inline int run_corpus(int count, char** arguments, const std::vector<std::string>& seeds, long least) {
  if (count > 1) {
    for (std::size_t i = 0; i < seeds.size(); ++i)
      std::ofstream(std::string(arguments[1]) + "/seed" + std::to_string(i), std::ios::binary) << seeds[i];
    return 0;
  }
  long inputs = 0;
  const auto run = [&inputs](const std::string& s) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(s.data()), s.size());
    ++inputs;
  };
  for (const std::string& seed : seeds)
    for (std::size_t end = 0; end <= seed.size(); ++end) {
      run(seed.substr(0, end));
      for (std::size_t bit = 0; end < seed.size() && bit < 8; ++bit) {
        std::string flipped = seed;
        flipped[end] = static_cast<char>(flipped[end] ^ (1 << bit));
        run(flipped);
      }
    }
  std::printf("%ld inputs\n", inputs);
  return inputs >= least ? 0 : 1;
}
