// Programs that the process runs, objects that it loads, and a folder for them. Where the system has no such thing,
// every function fails with a FileError.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/system/system.hpp"

namespace reel::os {

/// Whether the process has privileges that its caller lacks, as set-user-id programs do: it trusts no environment then.
bool is_privileged() noexcept;
/// A variable of the environment; empty if there is none, or if the process is privileged.
std::string trusted_variable(const char* name);

/// How a command ended. `unknown`: the host ignores or collects the ends of its children.
enum class Ended { well, badly, unknown };
struct CommandResult {
  Ended ended;
  std::string said;  // the beginning of what it wrote to standard output and standard error, or how it ended
};
/// Runs a program, which is found as execvp does, without a shell, and waits for it. `waiting` is called several times
/// a second meanwhile.
CommandResult run_command(const std::vector<std::string>& arguments, void (*waiting)());

/// What compilers distinguish processors by, or the name of the machine where that is unknown.
std::string processor_features();

/// A folder in the user's cache that nobody else can write to; created if there is none. In a privileged process a
/// temporary one, which is removed at the end.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::string& name);
  PrivateFolder(const PrivateFolder&) = delete;
  ~PrivateFolder();
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  /// Whether there is a regular file of this name that this user owns and nobody else can write to.
  bool holds(const std::string& name) const;
  /// Creates a file with a name that no other has, begins with `stem` and ends with `suffix`; returns the name.
  std::string create(const std::string& stem, const std::string& suffix, const std::string& text);
  /// Flushes a file to disk, makes it writable by this user alone and renames it, replacing a file of that name.
  void rename(const std::string& from, const std::string& to);
  void remove(const std::string& name) noexcept;
  /// Removes files that create() made and nobody has removed or written for a day.
  void remove_abandoned() noexcept;

 private:
  std::string path_;
  bool temporary_ = false;
};

/// A loaded object, unloaded at the end.
class SharedObject {
 public:
  explicit SharedObject(const std::string& path);
  SharedObject(const SharedObject&) = delete;
  ~SharedObject();
  /// Null if there is no such symbol.
  void* find(const char* symbol) const noexcept;

 private:
  void* handle_;
};

}  // namespace reel::os
