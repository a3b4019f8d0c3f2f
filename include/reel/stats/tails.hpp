// The distributions of <reel/stats/densities.hpp>, with their tails and quantiles.
#pragma once
#include <reel/stats/densities.hpp>
