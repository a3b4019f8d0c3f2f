// The name until 0.2 of <reel/solve/integrate.hpp>.
#pragma once
#include <reel/solve/integrate.hpp>
