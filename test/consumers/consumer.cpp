// What a user outside the tree writes first; built by each of the three ways to use the library.
#include <reel/reel.hpp>

int main() {
  reel::Tensor x = reel::scalar(3.0);
  reel::GradientTape tape;
  tape.watch(x);
  auto y = x * x;
  auto g = tape.gradient(y, x);
  return g.dense().item<double>() == 6.0 ? 0 : 1;
}
