// NumPy's npz: a zip archive of npy files.
#include <reel/io.hpp>

#include "core/fail.hpp"
#include "io/elements.hpp"
#include "io/npy.hpp"
#include "io/npz/zip.hpp"

namespace reel {
namespace {

constexpr std::string_view ending = ".npy";
constexpr std::size_t longest_name = 0xffff - ending.size();

}  // namespace

NamedTensors load_npz(const std::string& path) {
  const io::InputFile file("load_npz", path);
  NamedTensors tensors;
  for (const io::ZipMember& member : io::read_members(file)) {
    if (!member.name.ends_with(ending)) file.refuse(member.begin, "member '{}' is no npy file", member.name);
    Tensor& x = tensors[member.name.substr(0, member.name.size() - ending.size())];
    io::read_member(
        file, member, [](io::ByteStream& in, void* to) { *static_cast<Tensor*>(to) = io::read_npy(in); }, &x);
  }
  return tensors;
}

void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options) {
  io::OutputFile file("save_npz", path);
  io::ZipWriter archive(file);
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name.size() > longest_name)
      fail<ValueError>("save_npz", "a name has {} bytes; it must have between 1 and {}", name.size(), longest_name);
    const io::RowMajor elements(tensor);
    archive.add(name + std::string(ending), options.compressed ? io::ZipMethod::deflated : io::ZipMethod::stored,
                io::npy_header(tensor),
                {static_cast<const char*>(elements.data()), static_cast<std::size_t>(elements.bytes())});
  }
  archive.finish();
  file.commit();
}

}  // namespace reel
