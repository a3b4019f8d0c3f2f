// C source compiled by the system's compiler, kept in the user's cache, and loaded.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/system/process.hpp"

namespace reel::codegen {

/// The object of this source, which must define reel_native_key as NATIVE_KEY, a string that the command line defines.
/// `flags`: in place of the usual ones, if there are any. FileError, in one line, if there is no compiler, it fails, or
/// the cache cannot be used.
std::shared_ptr<const os::SharedObject> load_native(const std::string& source, const std::vector<std::string>& flags);

}  // namespace reel::codegen
