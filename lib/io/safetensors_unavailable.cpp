// safetensors in a library that was built without nlohmann-json.
#include <reel/io.hpp>

#include "core/fail.hpp"

namespace reel {
namespace {

[[noreturn]] void refuse_safetensors(const char* op, const std::string& path) {
  fail<IoError>(op, "{}: this library was built without nlohmann-json, which safetensors files need", path);
}

}  // namespace

NamedTensors load_safetensors(const std::string& path, const SafetensorsOptions&) {
  refuse_safetensors("load_safetensors", path);
}
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path) {
  refuse_safetensors("load_safetensors_metadata", path);
}
void save_safetensors(const std::string& path, const NamedTensors&, const std::map<std::string, std::string>&) {
  refuse_safetensors("save_safetensors", path);
}

}  // namespace reel
