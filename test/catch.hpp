// Catch2 2 or 3, whichever is installed. A file that implements Catch's main program defines CATCH_CONFIG_RUNNER
// before.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
