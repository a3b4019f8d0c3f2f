// Two versions of the library in one process, each with a library that uses it. Without versions of symbols the first
// would serve both.
#include <cstdint>
#include <cstdio>

#define DECLARE(user)          \
  namespace user {             \
  void set_threads(int count); \
  int threads();               \
  std::int64_t live_tensors(); \
  void keep_one();             \
  double slope_of_cube();      \
  bool refuses_shapes();       \
  }
DECLARE(first)
DECLARE(second)

int main() {
  first::set_threads(2);
  second::set_threads(3);
  first::keep_one();
  const bool states = first::threads() == 2 && second::threads() == 3;
  const bool memory = first::live_tensors() > 0 && second::live_tensors() == 0;
  const bool slopes = first::slope_of_cube() == 27 && second::slope_of_cube() == 27;
  const bool errors = first::refuses_shapes() && second::refuses_shapes();
  std::printf("states %d, memory %d, slopes %d, errors %d\n", states, memory, slopes, errors);
  return !(states && memory && slopes && errors);
}
