// The name until 0.2 of <reel/solve/equations.hpp>.
#pragma once
#include <reel/solve/equations.hpp>
