// Generated C in tests: many functions in one file, compiled at once and loaded.
#pragma once
#include <cstdlib>
#include <reel/codegen.hpp>
#include <string>
#include <vector>

namespace support {

using Tensors = std::vector<reel::Tensor>;

/// Generated functions, compiled together.
class GeneratedC {
 public:
  /// `folder`: for the file and what is compiled of it; removed at the end.
  GeneratedC();
  GeneratedC(const GeneratedC&) = delete;
  GeneratedC& operator=(const GeneratedC&) = delete;
  ~GeneratedC();

  /// The name of the next function: generated_0, generated_1, ...
  std::string next_name() const { return "generated_" + std::to_string(functions_.size()); }
  /// Adds a function of that name. `outputs`: tensors like its results.
  std::size_t add(const reel::CSource& source, const Tensors& inputs, const Tensors& outputs);
  std::size_t size() const noexcept { return functions_.size(); }
  const std::string& text() const noexcept { return text_; }
  /// Compiles the file with this command, which "FILE" and what follows are added to; empty if it succeeds, otherwise
  /// what the compiler says.
  std::string compile(const std::string& command) const;
  /// Compiles and loads it. Returns what the compiler says if it fails.
  std::string load(const std::string& command);
  /// Calls function k; the results. `status`: what it returns.
  Tensors call(std::size_t k, const Tensors& inputs, int& status) const;

  std::string folder() const { return folder_; }

 private:
  struct Function {
    std::string name;
    std::size_t workspace;
    std::vector<std::pair<reel::DType, reel::Shape>> outputs;
  };
  std::string folder_, text_;
  std::vector<Function> functions_;
  void* library_ = nullptr;
};

}  // namespace support
