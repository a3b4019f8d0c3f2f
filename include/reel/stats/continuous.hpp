// Continuous distributions whose tails and quantiles are closed forms; one header each.
#pragma once
#include <reel/stats/cauchy.hpp>
#include <reel/stats/expon.hpp>
#include <reel/stats/gumbel_r.hpp>
#include <reel/stats/laplace.hpp>
#include <reel/stats/logistic.hpp>
#include <reel/stats/lognorm.hpp>
#include <reel/stats/norm.hpp>
#include <reel/stats/pareto.hpp>
#include <reel/stats/uniform.hpp>
#include <reel/stats/weibull_min.hpp>
