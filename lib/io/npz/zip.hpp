// Zip archives as npz files use them: members stored or deflated, zip64, neither split nor encrypted.
// PKWARE, ".ZIP File Format Specification", version 6.3.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_file.hpp"
#include "io/output_file.hpp"

namespace reel::io {

enum class ZipMethod : std::uint16_t { stored = 0, deflated = 8 };

struct ZipMember {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  std::uint32_t checksum = 0;          // CRC-32 of the content
  std::uint64_t size = 0;              // of the content
  std::uint64_t record = 0;            // offset of the local record
  std::uint64_t begin = 0, bytes = 0;  // offset and length of the content, stored or deflated
};

/// The members of an archive, ascending by offset. They do not overlap, and their names are distinct.
std::vector<ZipMember> read_members(const InputFile& file);

/// Calls read(stream) with the content of a member, which it must read to the end. IoError when the deflated data is
/// longer or shorter, or when the checksum differs.
void read_member(const InputFile& file, const ZipMember& member, void (*read)(ByteStream& in, void* context),
                 void* context);

/// Writes an archive: the members, then the directory.
class ZipWriter {
 public:
  explicit ZipWriter(OutputFile& file) : file_(file) {}
  /// A member whose content is a head and a body.
  void add(const std::string& name, ZipMethod method, std::string_view head, std::string_view body);
  void finish();

 private:
  OutputFile& file_;
  std::string directory_;
  std::uint64_t count_ = 0;
};

}  // namespace reel::io
