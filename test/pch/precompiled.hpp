// Precompiled for every file of the test program except its main: Catch2 and the public headers, which otherwise take
// seconds per file.
#include <reel/reel.hpp>

#include "../catch.hpp"
