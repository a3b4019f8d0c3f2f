// Precompiled for every file of the random programs: what a program consists of, and the public headers.
#include <reel/reel.hpp>

#include "../program.hpp"
