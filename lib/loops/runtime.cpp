// Which instruction set runs, and whose kernels OpenBLAS uses. A REEL_ISA that this machine cannot follow is reported
// at the first use of a tensor.
#include <reel/runtime.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "kernels/blas.hpp"
#include "kernels/dispatch.hpp"

namespace reel {

namespace {
void check_isa() {
  if (const char* problem = kernels::isa_problem()) fail_without_line<ValueError>("REEL_ISA", "{}", problem);
}
const bool installed = (detail::on_first_use = check_isa, true);
}  // namespace

std::string_view isa() {
  static_cast<void>(installed);
  check_isa();
  return kernels::active().isa;
}

void set_isa(std::string_view name) {
  if (detail::any_thread_used())
    fail_without_line<ValueError>(
        "set_isa",
        "{} comes too late: call it before the first tensor or tape of the process (REEL_ISA={} "
        "in the environment works as well)",
        name, name);
  const kernels::Set* set = kernels::find(name);
  if (!set)
    fail_without_line<ValueError>("set_isa",
                                  "'{}' is not an instruction set that this machine has and that was compiled in: {}",
                                  name, kernels::available());
  kernels::activate(*set);
}

BlasTuning tune_blas() {
  const std::string_view before = kernels::blas_core();
  const std::string_view reason = kernels::tune_blas();
  return {before, kernels::blas_core(), reason};
}

}  // namespace reel
