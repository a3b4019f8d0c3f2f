// Files of generated C.
#include <filesystem>
#include <reel/codegen.hpp>

#include "core/fail.hpp"
#include "io/output_file.hpp"

namespace reel {

void CSource::write(const std::string& folder) const {
  constexpr const char* who = "CSource.write";
  std::error_code error;
  const std::filesystem::path to(folder.empty() ? "." : folder);
  std::filesystem::create_directories(to, error);
  if (error) detail::fail<IoError>(who, "cannot create the folder {}: {}", to.string(), error.message());
  for (const auto& [ending, contents] : {std::pair(".h", &header_), std::pair(".c", &text_)}) {
    io::OutputFile file(who, (to / (name_ + ending)).string());
    file.write(*contents);
    file.commit();
  }
}

}  // namespace reel
