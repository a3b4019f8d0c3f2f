// Native programs are not supported on Windows: what would run or load one fails, and says so.
#include "core/system/process.hpp"

namespace reel::os {

namespace {
[[noreturn]] void fail() { throw FileError{"native programs are not supported on Windows"}; }
}  // namespace

bool is_privileged() noexcept { return false; }
std::string trusted_variable(const char*) { return {}; }
CommandResult run_command(const std::vector<std::string>&, void (*)()) { fail(); }
std::string processor_features() { return {}; }

PrivateFolder::PrivateFolder(const std::string&) { fail(); }
PrivateFolder::~PrivateFolder() = default;
bool PrivateFolder::holds(const std::string&) const { return false; }
std::string PrivateFolder::create(const std::string&, const std::string&, const std::string&) { fail(); }
void PrivateFolder::rename(const std::string&, const std::string&) {}
void PrivateFolder::remove(const std::string&) noexcept {}
void PrivateFolder::remove_abandoned() noexcept {}

SharedObject::SharedObject(const std::string&) : handle_(nullptr) { fail(); }
SharedObject::~SharedObject() = default;
void* SharedObject::find(const char*) const noexcept { return handle_; }

}  // namespace reel::os
