// Files of generated C.
#include <filesystem>
#include <reel/codegen.hpp>

#include "core/fail.hpp"
#include "io/output_file.hpp"

namespace reel {

void CSource::write(const std::string& folder) const {
  constexpr const char* who = "CSource.write";
  std::error_code error;
  const std::string to = folder.empty() ? "." : folder;
  std::filesystem::create_directories(std::u8string(to.begin(), to.end()), error);
  if (error) detail::fail<IoError>(who, "cannot create the folder {}: {}", to, error.message());
  for (const auto& [ending, contents] : {std::pair(".h", &header_), std::pair(".c", &text_)}) {
    io::OutputFile file(who, to + (to.ends_with('/') ? "" : "/") + name_ + ending);
    file.write(*contents);
    file.commit();
  }
}

}  // namespace reel
