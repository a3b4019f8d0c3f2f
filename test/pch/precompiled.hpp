// Precompiled for every file of the test program but its main: Catch2 and the public headers, seconds each time
// otherwise.
#include <reel/reel.hpp>

#include "../catch.hpp"
