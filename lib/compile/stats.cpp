// The text of a compiled function's statistics.
#include <ostream>
#include <reel/compile.hpp>

namespace reel {

std::ostream& operator<<(std::ostream& out, const CompileStats& s) {
  out << s.signatures << " programs, " << s.traces << " traces\n"
      << s.traced_instructions << " instructions traced, " << s.instructions << " run, in " << s.planned_bytes
      << " bytes beside " << s.constant_bytes << " of constants\n"
      << "gradient: " << s.forward_instructions << " instructions forward, " << s.backward_instructions << " backward, "
      << s.residual_bytes << " bytes kept\n";
  if (s.native_instructions > 0) out << s.native_instructions << " instructions are native code\n";
  for (const PassStats& pass : s.passes)
    out << pass.name << ": " << pass.before << " to " << pass.after << " instructions\n";
  return out;
}

}  // namespace reel
