// npz in a library that was built without zlib.
#include <reel/io.hpp>

#include "core/fail.hpp"

namespace reel {
namespace {

[[noreturn]] void refuse_npz(const char* op, const std::string& path) {
  fail<IoError>(op, "{}: this library was built without zlib, which npz files need", path);
}

}  // namespace

NamedTensors load_npz(const std::string& path) { refuse_npz("load_npz", path); }
void save_npz(const std::string& path, const NamedTensors&, const NpzOptions&) { refuse_npz("save_npz", path); }

}  // namespace reel
