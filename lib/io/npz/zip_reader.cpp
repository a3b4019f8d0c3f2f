#include <zlib.h>

#include <algorithm>
#include <limits>
#include <set>

#include "io/npz/zip.hpp"
#include "io/npz/zip_records.hpp"

namespace reel::io {
namespace {

using namespace zip;

struct Directory {
  std::uint64_t begin = 0, bytes = 0, count = 0;
};

// The end record, which locates the directory. A comment of up to 65535 bytes may follow it.
std::uint64_t find_end(const InputFile& file) {
  if (file.size() < end_bytes) file.refuse(0, "this is no zip archive: it is too short");
  constexpr std::uint64_t longest = end_bytes + 0xffff;
  const std::uint64_t begin = file.size() - std::min(file.size(), longest);
  const std::string tail = file.text(begin, file.size() - begin);
  const std::string signature = Record(end_signature).text();
  for (std::size_t at = tail.rfind(signature); at != tail.npos; at = at ? tail.rfind(signature, at - 1) : tail.npos) {
    if (tail.size() - at < end_bytes) continue;
    const std::uint64_t place = begin + at;
    if (place + end_bytes + file.number<std::uint16_t>(place + 20) == file.size()) return place;
  }
  file.refuse(file.size(), "this is no zip archive: its end is not there");
}

Directory find_directory(const InputFile& file) {
  const std::uint64_t end = find_end(file);
  if (file.number<std::uint32_t>(end + 4) != 0) file.refuse(end + 4, "the archive is split into several files");
  Directory found{file.number<std::uint32_t>(end + 16), file.number<std::uint32_t>(end + 12),
                  file.number<std::uint16_t>(end + 10)};
  std::uint64_t limit = end;
  if (end >= locator_bytes && file.number<std::uint32_t>(end - locator_bytes) == locator_signature) {
    limit = file.number<std::uint64_t>(end - locator_bytes + 8);
    if (file.number<std::uint32_t>(limit) != end64_signature) file.refuse(limit, "the zip64 record is not there");
    found = {file.number<std::uint64_t>(limit + 48), file.number<std::uint64_t>(limit + 40),
             file.number<std::uint64_t>(limit + 32)};
  }
  if (found.begin > limit || found.bytes > limit - found.begin || found.count > found.bytes / central_bytes)
    file.refuse(end, "a directory of {} members in {} bytes at byte {} cannot be", found.count, found.bytes,
                found.begin);
  return found;
}

// Replaces those sizes and offsets of a member that are `elsewhere32` by the values in its zip64 field, in this order.
void read_extra(const InputFile& file, std::uint64_t at, std::uint64_t end,
                std::initializer_list<std::uint64_t*> numbers) {
  while (end - at >= 4) {
    const auto kind = file.number<std::uint16_t>(at), size = file.number<std::uint16_t>(at + 2);
    at += 4;
    if (size > end - at) file.refuse(at, "an extra field leaves its record");
    if (kind == zip64_extra) {
      std::uint64_t next = at;
      for (std::uint64_t* number : numbers)
        if (*number == elsewhere32) {
          if (at + size - next < 8) file.refuse(at, "the zip64 field is too short");
          *number = file.number<std::uint64_t>(next);
          next += 8;
        }
    }
    at += size;
  }
}

// Reads the central record at `at` and moves `at` behind it.
ZipMember read_central(const InputFile& file, std::uint64_t& at, const Directory& directory) {
  if (file.number<std::uint32_t>(at) != central_signature) file.refuse(at, "a member's record is not there");
  if (file.number<std::uint16_t>(at + 8) & encrypted_flag) file.refuse(at + 8, "the member is encrypted");
  const auto method = file.number<std::uint16_t>(at + 10);
  if (method != 0 && method != 8)
    file.refuse(at + 10, "compression method {}; stored and deflated members are read", method);
  const auto name = file.number<std::uint16_t>(at + 28), extra = file.number<std::uint16_t>(at + 30),
             comment = file.number<std::uint16_t>(at + 32);
  const std::uint64_t end = at + central_bytes + name + extra + comment;
  if (end > directory.begin + directory.bytes) file.refuse(at, "a member's record leaves the directory");
  ZipMember member{file.text(at + central_bytes, name), ZipMethod(method), file.number<std::uint32_t>(at + 16)};
  member.bytes = file.number<std::uint32_t>(at + 20);
  member.size = file.number<std::uint32_t>(at + 24);
  member.record = file.number<std::uint32_t>(at + 42);
  read_extra(file, at + central_bytes + name, at + central_bytes + name + extra,
             {&member.size, &member.bytes, &member.record});
  at = end;
  return member;
}

// Finds the content of the member behind its local record. Sizes and checksum come from the central record.
void find_content(const InputFile& file, ZipMember& member, const Directory& directory) {
  const std::uint64_t at = member.record;
  if (at > directory.begin || file.number<std::uint32_t>(at) != local_signature)
    file.refuse(at, "member '{}' is not there", member.name);
  const auto name = file.number<std::uint16_t>(at + 26), extra = file.number<std::uint16_t>(at + 28);
  if (file.text(at + local_bytes, name) != member.name)
    file.refuse(at, "the directory calls this member '{}'", member.name);
  member.begin = at + local_bytes + name + extra;
  if (member.begin > directory.begin || member.bytes > directory.begin - member.begin)
    file.refuse(at, "member '{}' of {} bytes does not end before the directory", member.name, member.bytes);
}

void require_plausible(const InputFile& file, const ZipMember& member) {
  // The largest ratio of deflate: https://zlib.net/zlib_tech.html
  constexpr std::uint64_t inflation = 1032;
  const bool stored = member.method == ZipMethod::stored;
  if (stored ? member.size != member.bytes : member.size / inflation > member.bytes)
    file.refuse(member.begin, "member '{}' of {} bytes cannot hold {}", member.name, member.bytes, member.size);
}

// The content of a member.
class MemberStream final : public ByteStream {
 public:
  MemberStream(const InputFile& file, const ZipMember& member)
      : ByteStream(file, member.size), member_(member), next_(member.begin) {
    if (deflated() && inflateInit2(&inflater_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~MemberStream() override {
    if (deflated()) inflateEnd(&inflater_);
  }

  void finish() {
    if (deflated()) {
      Bytef beyond = 0;
      inflater_.next_out = &beyond;
      inflater_.avail_out = 1;
      while (!ended_ && inflater_.avail_out) inflate_some();
      if (!inflater_.avail_out || inflater_.avail_in || next_ != end()) refuse("more is deflated here than is said");
    }
    if (checksum_ != member_.checksum) refuse("the checksum is {:08x}, must be {:08x}", checksum_, member_.checksum);
  }

 private:
  bool deflated() const { return member_.method == ZipMethod::deflated; }
  std::uint64_t end() const { return member_.begin + member_.bytes; }
  std::string place() const override {
    return fmt::format("byte {} of '{}'", member_.size - remaining(), member_.name);
  }

  void fill(void* to, std::uint64_t count) override {
    auto* out = static_cast<Bytef*>(to);
    while (count > 0) {
      const auto step = static_cast<uInt>(std::min<std::uint64_t>(count, std::numeric_limits<uInt>::max() / 2));
      if (deflated()) {
        inflater_.next_out = out;
        inflater_.avail_out = step;
        while (inflater_.avail_out) inflate_some();
      } else {
        file_.read(next_, out, step);
        next_ += step;
      }
      checksum_ = static_cast<std::uint32_t>(crc32(checksum_, out, step));
      out += step;
      count -= step;
    }
  }

  // Inflates what is buffered, then more of the file.
  void inflate_some() {
    if (ended_) refuse("less is deflated here than is said");
    if (!inflater_.avail_in && next_ != end()) {
      inflater_.avail_in = static_cast<uInt>(std::min<std::uint64_t>(sizeof buffer_, end() - next_));
      file_.read(next_, buffer_, inflater_.avail_in);
      next_ += inflater_.avail_in;
      inflater_.next_in = buffer_;
    }
    const int result = inflate(&inflater_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) refuse("the deflated bytes are damaged");
    ended_ = result == Z_STREAM_END;
  }

  const ZipMember& member_;
  std::uint64_t next_;  // the byte of the file to read next
  std::uint32_t checksum_ = 0;
  bool ended_ = false;
  z_stream inflater_{};
  Bytef buffer_[16384];
};

}  // namespace

std::vector<ZipMember> read_members(const InputFile& file) {
  const Directory directory = find_directory(file);
  std::vector<ZipMember> members;
  std::set<std::string_view> names;
  std::uint64_t at = directory.begin;
  members.reserve(static_cast<std::size_t>(directory.count));
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    ZipMember& member = members.emplace_back(read_central(file, at, directory));
    find_content(file, member, directory);
    require_plausible(file, member);
    if (!names.insert(member.name).second) file.refuse(member.begin, "two members are named '{}'", member.name);
  }
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.record < b.record; });
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i - 1].begin + members[i - 1].bytes > members[i].record)
      file.refuse(members[i].record, "member '{}' overlaps '{}'", members[i].name, members[i - 1].name);
  return members;
}

void read_member(const InputFile& file, const ZipMember& member, void (*read)(ByteStream& in, void* context),
                 void* context) {
  MemberStream in(file, member);
  read(in, context);
  in.finish();
}

}  // namespace reel::io
