// Which instruction set runs; a REEL_ISA that this machine cannot follow is reported at the first use of a tensor.
#include <reel/runtime.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "kernels/kernels.hpp"

namespace reel {

namespace {
void check_isa() {
  if (const char* problem = kernels::isa_problem()) fail<ValueError>("REEL_ISA", "{}", problem);
}
const bool installed = (detail::on_first_use = check_isa, true);
}  // namespace

std::string_view isa() {
  static_cast<void>(installed);
  check_isa();
  return kernels::active().isa;
}

}  // namespace reel
