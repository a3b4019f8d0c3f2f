#include <reel/ops/neural.hpp>
