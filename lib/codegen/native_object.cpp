// 1. The key is a hash of the source, the command, what the compiler says of itself, and the processor.
// 2. An object of that name in the cache is loaded if nobody else can have written it.
// 3. Otherwise source and object are written to temporary names; the object is renamed when it is complete and on disk.
#include "codegen/native_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "program/trace.hpp"

namespace reel::codegen {

namespace {

constexpr const char* key_symbol = "reel_native_key";

// 128 bits by two multiplicative hashes (FNV-1a, and the same with the golden ratio as its prime).
std::string hash_of(const std::string& text) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x84222325cbf29ce4u;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    a = (a ^ byte) * 0x100000001b3u;
    b = (b ^ byte) * 0x9e3779b97f4a7c15u;
    b ^= b >> 29;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

std::string first_line(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of("\r\n"), text.size());
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

// $CC, split at blanks.
std::vector<std::string> compiler() {
  if (os::is_privileged()) return {"/usr/bin/cc"};
  const std::string text = os::trusted_variable("CC");
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words.empty() ? std::vector<std::string>{"cc"} : words;
}

class Compilation {
 public:
  Compilation(const std::string& source, const std::vector<std::string>& flags)
      : source_(source), command_(compiler()), folder_("reel") {
    std::vector<std::string> asking = command_;
    asking.emplace_back("-v");
    const os::CommandResult about = run(asking);
    if (about.ended == os::Ended::badly) throw os::FileError{about.said};
    for (const std::string& flag : flags) command_.push_back(flag);
    if (flags.empty()) add({"-O2", "-fno-math-errno", "-ffp-contract=off", "-march=native"});
    // gcc: loops of any length are vectorized, with floor and choices, as by other compilers; straight code gains
    // nothing by it, and would take twice as long.
    if (flags.empty() && about.said.find("gcc version") != std::string::npos)
      add({"-fvect-cost-model=dynamic", "-fno-tree-slp-vectorize", "-fno-trapping-math"});
    add({"-shared", "-fPIC"});
    std::string all;
    for (const std::string& word : command_) all += word + "\n";
    key_ = hash_of(all + about.said + "\n" + os::processor_features() + "\n" + source);
  }
  std::shared_ptr<const os::SharedObject> load() {
    const std::string object = key_ + ".so";
    if (folder_.holds(object)) try {
        return loaded(object);
      } catch (const os::FileError&) {  // a damaged file is replaced
      }
    folder_.remove_abandoned();
    make(object);
    if (!folder_.holds(object)) throw os::FileError{folder_.path_of(object) + " can be written to by others"};
    return loaded(object);
  }

 private:
  void add(std::initializer_list<std::string> words) { command_.insert(command_.end(), words); }
  // Threads that wait for this one see that it goes on.
  static os::CommandResult run(const std::vector<std::string>& command) {
    return os::run_command(command, program::Trace::note_progress);
  }

  std::shared_ptr<const os::SharedObject> loaded(const std::string& name) const {
    auto object = std::make_shared<const os::SharedObject>(folder_.path_of(name));
    const auto* key = static_cast<const char*>(object->find(key_symbol));
    if (!key || key != key_) throw os::FileError{folder_.path_of(name) + " is the object of another program"};
    return object;
  }

  void make(const std::string& object) {
    struct Temporary {
      os::PrivateFolder& folder;
      std::string name;
      ~Temporary() { folder.remove(name); }
    };
    const Temporary text{folder_, folder_.create(key_, ".c", source_)}, made{folder_, folder_.create(key_, ".so", "")};
    add({"-DNATIVE_KEY=\"" + key_ + "\"", "-o", folder_.path_of(made.name), folder_.path_of(text.name), "-lm"});
    const os::CommandResult result = run(command_);
    if (result.ended == os::Ended::badly) throw os::FileError{result.said};
    static_cast<void>(os::SharedObject(folder_.path_of(made.name)));  // complete, though nobody may know how it ended
    folder_.rename(made.name, object);
  }

  const std::string& source_;
  std::vector<std::string> command_;
  os::PrivateFolder folder_;
  std::string key_;
};

}  // namespace

std::shared_ptr<const os::SharedObject> load_native(const std::string& source,
                                                    const std::vector<std::string>& flags) try {
  return Compilation(source, flags).load();
} catch (const os::FileError& error) {
  throw os::FileError{first_line(error.text)};
}

}  // namespace reel::codegen
