#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "io/npz/zip.hpp"
#include "io/npz/zip_records.hpp"

namespace reel::io {
namespace {

using namespace zip;

// Calls f with parts of the content that zlib's 32-bit counters can hold.
template <class F>
void in_parts(std::string_view content, F&& f) {
  constexpr std::size_t largest = std::numeric_limits<uInt>::max() / 2;
  for (; !content.empty(); content.remove_prefix(std::min(largest, content.size()))) {
    const std::string_view part = content.substr(0, largest);
    f(reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
  }
}

std::uint32_t checksum_of(std::string_view head, std::string_view body) {
  uLong sum = 0;
  for (const std::string_view content : {head, body})
    in_parts(content, [&](const Bytef* data, uInt size) { sum = crc32(sum, data, size); });
  return static_cast<std::uint32_t>(sum);
}

class Deflater {
 public:
  explicit Deflater(OutputFile& file) : file_(file) {
    // Raw deflate, without zlib's own header; level, window and memory are zlib's defaults.
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw std::bad_alloc();
  }
  Deflater(const Deflater&) = delete;
  ~Deflater() { deflateEnd(&stream_); }

  void add(std::string_view content) {
    in_parts(content, [&](const Bytef* data, uInt size) {
      stream_.next_in = const_cast<Bytef*>(data);  // zlib does not write there
      stream_.avail_in = size;
      run(Z_NO_FLUSH);
    });
  }
  void finish() { run(Z_FINISH); }

 private:
  void run(int flush) {
    do {
      stream_.next_out = buffer_;
      stream_.avail_out = sizeof buffer_;
      deflate(&stream_, flush);
      file_.write(buffer_, sizeof buffer_ - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  OutputFile& file_;
  z_stream stream_{};
  Bytef buffer_[16384];
};

std::uint16_t flags_of(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  return ascii ? std::uint16_t{0} : utf8_flag;
}

// The fields that the local and the central record share, from the flags to the length of the extra field.
void add_description(Record& record, const ZipMember& member, std::uint16_t extra) {
  for (const std::uint16_t field :
       {flags_of(member.name), static_cast<std::uint16_t>(member.method), std::uint16_t{0}, date_1980_01_01})
    record.add(field);
  for (const std::uint32_t field : {member.checksum, elsewhere32, elsewhere32}) record.add(field);
  record.add(static_cast<std::uint16_t>(member.name.size()));
  record.add(extra);
}

// Sizes always go into the zip64 field, as numpy.savez writes them: one form for every size.
std::string local_record(const ZipMember& member) {
  constexpr std::uint16_t sizes = 2 * sizeof(std::uint64_t);
  Record record(local_signature, version);
  add_description(record, member, 4 + sizes);
  return record.text() + member.name + Record(zip64_extra, sizes, member.size, member.bytes).text();
}

std::string central_record(const ZipMember& member, std::uint64_t local) {
  constexpr std::uint16_t sizes = 3 * sizeof(std::uint64_t);
  Record record(central_signature, version, version);
  add_description(record, member, 4 + sizes);
  for (int i = 0; i < 3; ++i) record.add(std::uint16_t{0});  // comment, disk, internal attributes
  record.add(std::uint32_t{0});                              // external attributes
  record.add(elsewhere32);
  return record.text() + member.name + Record(zip64_extra, sizes, member.size, member.bytes, local).text();
}

}  // namespace

void ZipWriter::add(const std::string& name, ZipMethod method, std::string_view head, std::string_view body) {
  ZipMember member{name, method, checksum_of(head, body), head.size() + body.size()};
  const std::uint64_t local = file_.size();
  file_.write(local_record(member));
  member.begin = file_.size();
  if (method == ZipMethod::stored) {
    file_.write(head);
    file_.write(body);
  } else {
    Deflater deflater(file_);
    deflater.add(head);
    deflater.add(body);
    deflater.finish();
  }
  member.bytes = file_.size() - member.begin;
  file_.overwrite(local, local_record(member));
  directory_ += central_record(member, local);
  ++count_;
}

void ZipWriter::finish() {
  constexpr std::uint64_t rest_of_end64 = end64_bytes - 12;
  constexpr std::uint32_t disk = 0, disks = 1;
  const std::uint64_t begin = file_.size(), bytes = directory_.size();
  file_.write(directory_);
  const std::uint64_t end64 = file_.size();
  file_.write(
      Record(end64_signature, rest_of_end64, version, version, disk, disk, count_, count_, bytes, begin).text());
  file_.write(Record(locator_signature, disk, end64, disks).text());
  file_.write(Record(end_signature, disk, elsewhere16, elsewhere16, elsewhere32, elsewhere32, std::uint16_t{0}).text());
}

}  // namespace reel::io
