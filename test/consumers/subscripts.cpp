// x[i, j] where the language has it; elsewhere the program has nothing to check.
#include <reel/reel.hpp>

int main() {
#ifdef __cpp_multidimensional_subscript
  using namespace reel;
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  bool good = x[1, 2].item() == 6 && x[all, 0].size() == 2 && x[range(0, 1), ellipsis, -1].item() == 3;
  good &= x[1].size() == 3;
  try {
    static_cast<void>(x[0, 3]);
    good = false;
  } catch (const IndexError&) {
  }
  return good ? 0 : 1;
#endif
}
