// Compiling and calling generated C.
#include "support/generated_c.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <reel/reel.hpp>
#include <sstream>

#include "core/block.hpp"
#include "csource/text.hpp"

namespace support {

using reel::DType, reel::Tensor;

GeneratedC::GeneratedC() {
  std::string pattern = (std::filesystem::temp_directory_path() / "reel_generated_XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
}

GeneratedC::~GeneratedC() {
  if (library_) dlclose(library_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// The header takes the place of the line that includes it. A function of a list of pointers calls the generated one.
std::size_t GeneratedC::add(const reel::CSource& source, const Tensors& inputs, const Tensors& outputs) {
  const std::string name = next_name(), include = "#include \"" + name + ".h\"\n";
  std::string text = source.text();
  const std::size_t at = text.find(include);
  text.replace(at, include.size(), source.header());
  text_ +=
      text + "int call_" + name + "(void *const *p);\nint call_" + name + "(void *const *p) {\n  return " + name + "(";
  std::size_t k = 0;
  for (const Tensors* list : {&inputs, &outputs})
    for (const Tensor& x : *list)
      text_ += std::string(list == &inputs ? "(const " : "(") + reel::csource::type_of(x.dtype()) + " *)p[" +
               std::to_string(k++) + "], ";
  text_ += "p[" + std::to_string(k) + "]);\n}\n\n";
  Function f{name, static_cast<std::size_t>(source.stats().workspace_bytes), {}};
  for (const Tensor& y : outputs) f.outputs.emplace_back(y.dtype(), y.shape());
  functions_.push_back(std::move(f));
  return functions_.size() - 1;
}

std::string GeneratedC::compile(const std::string& command) const {
  const std::string file = folder_ + "/generated.c", log = folder_ + "/log";
  std::ofstream(file) << text_;
  if (const char* kept = std::getenv("REEL_TEST_KEEP_C")) std::ofstream(kept) << text_;
  if (std::system((command + " " + file + " >" + log + " 2>&1").c_str()) == 0) return {};
  std::ostringstream said;
  said << std::ifstream(log).rdbuf();
  return said.str().empty() ? "the compiler failed" : said.str();
}

std::string GeneratedC::load(const std::string& command) {
  const std::string object = folder_ + "/generated.so";
  if (std::string said = compile(command + " -shared -fPIC -o " + object); !said.empty()) return said;
  library_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library_ ? std::string() : dlerror();
}

Tensors GeneratedC::call(std::size_t k, const Tensors& inputs, int& status) const {
  const Function& f = functions_[k];
  Tensors held, results;
  std::vector<void*> pointers;
  for (const Tensor& x : inputs) {
    held.push_back(contiguous(x));
    pointers.push_back(reel::detail::block(held.back())->data);
  }
  for (const auto& [dtype, shape] : f.outputs) {
    results.push_back(reel::zeros(shape, dtype));
    pointers.push_back(reel::detail::block(results.back())->data);
  }
  std::vector<double> workspace((f.workspace + 7) / 8, 1e300);  // what it holds before does not matter
  pointers.push_back(workspace.empty() ? nullptr : workspace.data());
  const auto function = reinterpret_cast<int (*)(void* const*)>(dlsym(library_, ("call_" + f.name).c_str()));
  status = function(pointers.data());
  return results;
}

}  // namespace support
