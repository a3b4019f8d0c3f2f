// Probability: distributions and what is computed from them. Optional: <reel/reel.hpp> does not include it.
#pragma once
#include <reel/stats/continuous.hpp>
#include <reel/stats/densities.hpp>
#include <reel/stats/divergences.hpp>
#include <reel/stats/joint.hpp>
#include <reel/stats/samplers.hpp>
#include <reel/stats/tails.hpp>
