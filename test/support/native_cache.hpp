// A cache folder and a C compiler of a test's own, for compile(f, {.native = true}).
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace support {

/// A variable of the environment, restored at the end; null removes it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Setting(const Setting&) = delete;
  ~Setting() { set(before_ ? before_->c_str() : nullptr); }
  void set(const char* value) const {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// An empty cache while it lives.
class NativeCache {
 public:
  NativeCache() : home_("XDG_CACHE_HOME", nullptr), compiler_("CC", nullptr) {
    std::string pattern = (std::filesystem::temp_directory_path() / "reel_native_XXXXXX").string();
    top_ = mkdtemp(pattern.data());
    home_.set(top_.c_str());
  }
  ~NativeCache() {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  const std::string& top() const { return top_; }
  std::string folder() const { return top_ + "/reel"; }
  void use_home(const std::string& path) const { home_.set(path.c_str()); }
  void use_compiler(const std::string& command) const { compiler_.set(command.c_str()); }
  /// A shell script in place of the compiler. It runs "cc" with its arguments and what `then` adds, and notes in log().
  void use_script(const std::string& text) const {
    const std::string path = top_ + "/compiler";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    use_compiler(path);
  }
  /// A compiler that counts what it compiles; the text is run behind, with $object as the name of what it makes.
  void count_compilations(const std::string& then = ":") const {
    use_script("[ \"$1\" = -v ] && exec cc -v\necho >>" + top_ +
               "/count\ncc \"$@\" || exit 1\nfor word; do [ \"$before\" = -o ] && object=$word; before=$word; done\n" +
               then);
  }
  int compilations() const {
    std::ifstream file(top_ + "/count");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  /// The one object in the folder; empty if there is another number of files.
  std::string object() const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (!found.empty()) return {};
      found = entry.path();
    }
    return found;
  }
  int files() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator()));
  }

 private:
  Setting home_, compiler_;
  std::string top_;
};

/// Whether there is a C compiler.
inline bool has_compiler() { return std::system("cc -v >/dev/null 2>&1") == 0; }

}  // namespace support
