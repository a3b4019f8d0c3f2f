// All distributions, which are sampled by F_rvs, and random choices.
#pragma once
#include <reel/stats/choices.hpp>
#include <reel/stats/continuous.hpp>
#include <reel/stats/densities.hpp>
#include <reel/stats/joint.hpp>
