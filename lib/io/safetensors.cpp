// safetensors, https://github.com/huggingface/safetensors:
// 1. the length of the header: 64 bits, little-endian;
// 2. the header, a JSON object: for each tensor its dtype, shape and byte range; free texts under "__metadata__";
// 3. the bytes.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <reel/io.hpp>
#include <utility>

#include "core/fail.hpp"
#include "io/elements.hpp"
#include "io/input_file.hpp"
#include "io/output_file.hpp"

namespace reel {
namespace {

using Json = nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr const char* metadata_key = "__metadata__";
constexpr std::uint64_t largest_header = 100'000'000;  // the format's limit, in bytes
constexpr std::size_t alignment = 8;

constexpr std::array<std::pair<std::string_view, io::Stored>, 14> codes{{{"BOOL", {DType::boolean}},
                                                                         {"I8", io::stored_int8},
                                                                         {"U8", {DType::uint8}},
                                                                         {"I16", io::stored_int16},
                                                                         {"U16", io::stored_uint16},
                                                                         {"I32", {DType::int32}},
                                                                         {"U32", io::stored_uint32},
                                                                         {"I64", {DType::int64}},
                                                                         {"U64", io::stored_uint64},
                                                                         {"F16", {DType::float16}},
                                                                         {"BF16", {DType::bfloat16}},
                                                                         {"F32", {DType::float32}},
                                                                         {"F64", {DType::float64}},
                                                                         {"C64", {DType::complex64}}}};

// A name in Header::names, in 32 bits: headers are shorter.
struct HeaderName {
  std::uint32_t begin = 0, length = 0;
};

// Small, as a header may describe millions of tensors.
struct HeaderEntry {
  HeaderName name;
  std::uint32_t extents = 0;  // the first one in Header::extents
  std::uint8_t rank = 0;
  bool has_shape = false, has_range = false;
  std::optional<io::Stored> dtype = {};
  std::array<std::uint64_t, 2> range = {};  // relative to the end of the header
};

struct Header {
  std::string names;
  std::vector<std::int64_t> extents;
  std::vector<HeaderEntry> entries;
  std::vector<HeaderName> metadata_keys;
  Metadata metadata;       // empty unless it is wanted
  std::uint64_t data = 0;  // offset of the first byte behind the header

  HeaderName add(std::string_view name) {
    const HeaderName added = {static_cast<std::uint32_t>(names.size()), static_cast<std::uint32_t>(name.size())};
    names += name;
    return added;
  }
  std::string_view operator[](HeaderName n) const { return std::string_view(names).substr(n.begin, n.length); }
  std::string_view name(const HeaderEntry& entry) const { return (*this)[entry.name]; }
  Shape shape(const HeaderEntry& entry) const { return {extents.data() + entry.extents, entry.rank}; }
};

// Reads the header while it is parsed, to detect duplicate keys.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(const io::InputFile& file, Header& header, bool metadata)
      : file_(file), header_(header), keeps_metadata_(metadata) {}

  bool start_object(std::size_t) override {
    if (++depth_ == 1 || (depth_ == 2 && !list_)) return true;
    refuse("an object where there is none to be");
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_) complete(header_.entries.back());
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) return outer_key(name);
    key_ = name;
    if (in_metadata_) header_.metadata_keys.push_back(header_.add(name));
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      if (keeps_metadata_) header_.metadata.emplace(key_, text);
    } else if (depth_ == 2 && key_ == "dtype" && !entry().dtype) {
      for (const auto& [code, dtype] : codes)
        if (code == text) entry().dtype = dtype;
      if (!entry().dtype) refuse("'{}': no tensor has dtype {}", header_.name(entry()), text);
    } else {
      refuse("a text where there is none to be: \"{}\"", text);
    }
    return true;
  }
  bool start_array(std::size_t) override {
    const bool known = depth_ == 2 && !in_metadata_ && !list_ &&
                       ((key_ == "shape" && !entry().has_shape) || (key_ == "data_offsets" && !entry().has_range));
    if (!known) refuse("a list where there is none to be");
    list_.emplace();
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    if (!list_ || list_->size() == static_cast<std::size_t>(max_rank))
      refuse("the number {} where there is none to be", n);
    list_->push_back(n);
    return true;
  }
  bool end_array() override {
    if (key_ == "shape") {
      entry().has_shape = true;
      entry().extents = static_cast<std::uint32_t>(header_.extents.size());
      entry().rank = static_cast<std::uint8_t>(list_->size());
      for (const std::uint64_t n : *list_) header_.extents.push_back(extent(n));
    } else {
      if (list_->size() != 2) refuse("'{}': data_offsets has {} numbers", header_.name(entry()), list_->size());
      entry().has_range = true;
      entry().range = {(*list_)[0], (*list_)[1]};
    }
    list_.reset();
    return true;
  }
  bool null() override { refuse("a null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(number_integer_t n) override { refuse("the number {}", n); }
  bool number_float(number_float_t, const string_t& text) override { refuse("the number {}", text); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    file_.refuse(sizeof(std::uint64_t) + position, "the header is not JSON: {}", error.what());
  }

 private:
  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<detail::Shown<A>...> text, const A&... args) const {
    file_.refuse("the header", text, args...);
  }
  HeaderEntry& entry() { return header_.entries.back(); }
  bool outer_key(const std::string& name) {
    in_metadata_ = name == metadata_key;
    if (in_metadata_) {
      if (std::exchange(had_metadata_, true)) refuse("the metadata is there twice");
    } else {
      header_.entries.push_back({.name = header_.add(name)});
    }
    return true;
  }
  std::int64_t extent(std::uint64_t n) const {
    if (!std::in_range<std::int64_t>(n)) refuse("an extent of {}", n);
    return static_cast<std::int64_t>(n);
  }
  void complete(const HeaderEntry& entry) const {
    if (!entry.dtype || !entry.has_shape || !entry.has_range)
      refuse("'{}': dtype, shape or data_offsets is missing", header_.name(entry));
  }

  const io::InputFile& file_;
  Header& header_;
  bool keeps_metadata_;
  int depth_ = 0;
  bool in_metadata_ = false, had_metadata_ = false;
  std::string key_;
  std::optional<std::vector<std::uint64_t>> list_;
};

void require_distinct_texts(const io::InputFile& file, Header& header) {
  auto& keys = header.metadata_keys;
  std::sort(keys.begin(), keys.end(), [&](HeaderName a, HeaderName b) { return header[a] < header[b]; });
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (header[keys[i]] == header[keys[i - 1]])
      file.refuse("the header", "'{}' is there twice in the metadata", header[keys[i]]);
}

// Checks that every byte belongs to exactly one tensor and that names are distinct.
void require_covered(const io::InputFile& file, Header& header) {
  auto& entries = header.entries;
  const auto name = [&](const HeaderEntry& entry) { return header.name(entry); };
  std::sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return name(a) < name(b); });
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (name(entries[i]) == name(entries[i - 1]))
      file.refuse("the header", "two tensors are named '{}'", name(entries[i]));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.range < b.range; });
  std::uint64_t end = 0;
  for (const HeaderEntry& entry : entries) {
    const auto [first, last] = entry.range;
    if (first != end || last < first)
      file.refuse("the header", "'{}' has bytes {} to {}; the tensor before it ends at {}", name(entry), first, last,
                  end);
    const std::string fault = io::fault_of_size(last - first, header.shape(entry), *entry.dtype);
    if (!fault.empty()) file.refuse("the header", "'{}': {}", name(entry), fault);
    end = last;
  }
  if (end != file.size() - header.data)
    file.refuse("the header", "the tensors have {} bytes, the file holds {}", end, file.size() - header.data);
}

Header read_header(const io::InputFile& file, bool metadata) {
  const auto length = file.number<std::uint64_t>(0);
  if (length > largest_header) file.refuse(0, "a header of {} bytes; at most {} are allowed", length, largest_header);
  const std::string text = file.text(sizeof length, length);
  if (!text.starts_with('{')) file.refuse(sizeof length, "the header does not begin with a brace");
  Header header;
  header.data = sizeof length + length;
  HeaderReader reader(file, header, metadata);
  Json::sax_parse(text, &reader);
  require_distinct_texts(file, header);
  require_covered(file, header);
  return header;
}

// A tensor that borrows the mapped file; empty if its elements must be copied.
Tensor borrow_mapped(const std::shared_ptr<const std::byte>& file, std::uint64_t offset, const HeaderEntry& entry,
                     const Shape& shape) {
  const std::byte* data = file.get() + offset;
  const std::size_t part = item_size(*entry.dtype) / (is_complex(*entry.dtype) ? 2 : 1);
  if (*entry.dtype == DType::boolean || entry.dtype->integer_bytes ||
      reinterpret_cast<std::uintptr_t>(data) % part != 0)
    return {};
  using Owner = detail::OwnerOf<std::shared_ptr<const std::byte>>;
  return detail::borrow(data, shape, *entry.dtype, new Owner(file));
}

Tensor read_elements(const io::InputFile& file, std::uint64_t offset, std::string_view name, const HeaderEntry& entry,
                     const Shape& shape) {
  void* data = nullptr;
  const Tensor x = detail::uninitialized(shape, *entry.dtype, data);
  const std::uint64_t bytes = entry.range[1] - entry.range[0];
  file.read(offset, io::place_of_stored(x, data, bytes), bytes);
  const std::string misfit = io::widen(data, bytes, *entry.dtype);
  if (!misfit.empty()) file.refuse(offset, "'{}' of uint64: {}", name, misfit);
  if (*entry.dtype == DType::boolean) io::normalize_booleans(data, bytes);
  return x;
}

// A JSON string with quotes.
std::string quote(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail<ValueError>("save_safetensors", "a name or a text of the metadata is not UTF-8");
  }
}

std::string_view code_of(const std::string& name, const Tensor& x) {
  for (const auto& [code, dtype] : codes)
    if (dtype == x.dtype() && !dtype.integer_bytes) return code;
  fail<TypeError>("save_safetensors", "'{}' is {}, which the format has no code for; use save_npz", name, x.dtype());
}

std::string write_header(const std::vector<std::pair<std::string, Tensor>>& tensors, const Metadata& metadata) {
  std::string text = "{", separator;
  if (!metadata.empty()) {
    text += quote(metadata_key) + ":{";
    for (const auto& [name, value] : metadata) text += std::exchange(separator, ",") + quote(name) + ":" + quote(value);
    text += '}';
  }
  std::uint64_t offset = 0;
  for (const auto& [name, x] : tensors) {
    const std::uint64_t end = offset + static_cast<std::uint64_t>(x.size()) * item_size(x.dtype());
    std::string extents, comma;
    for (const std::int64_t n : x.shape()) extents += std::exchange(comma, ",") + std::to_string(n);
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text.size() > 1 ? "," : "",
                        quote(name), code_of(name, x), extents, offset, end);
    offset = end;
  }
  text += '}';
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  return text;
}

}  // namespace

NamedTensors load_safetensors(const std::string& path, const SafetensorsOptions& options) {
  const io::InputFile file("load_safetensors", path);
  const Header header = read_header(file, false);
  const std::shared_ptr<const std::byte> mapped = options.mapped ? file.map() : nullptr;
  NamedTensors tensors;
  for (const HeaderEntry& entry : header.entries) {
    const std::uint64_t offset = header.data + entry.range[0];
    const Shape shape = header.shape(entry);
    Tensor& x = tensors[std::string(header.name(entry))];
    if (mapped) x = borrow_mapped(mapped, offset, entry, shape);
    if (!x.defined()) x = read_elements(file, offset, header.name(entry), entry, shape);
  }
  return tensors;
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path) {
  return read_header(io::InputFile("load_safetensors_metadata", path), true).metadata;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  if (tensors.count(metadata_key))
    fail<ValueError>("save_safetensors", "a tensor is named {}, which the format keeps for texts", metadata_key);
  // Larger elements first: all are aligned then, since the data begins at a multiple of eight bytes.
  std::vector<std::pair<std::string, Tensor>> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return item_size(a.second.dtype()) > item_size(b.second.dtype());
  });
  const std::string header = write_header(ordered, metadata);
  if (header.size() > largest_header)
    fail<ValueError>("save_safetensors", "names and texts take {} bytes; at most {} are allowed", header.size(),
                     largest_header);
  io::OutputFile file("save_safetensors", path);
  const std::uint64_t length = header.size();
  file.write(&length, sizeof length);
  file.write(header);
  for (const auto& named : ordered) {
    const io::RowMajor elements(named.second);
    file.write(elements.data(), elements.bytes());
  }
  file.commit();
}

}  // namespace reel
