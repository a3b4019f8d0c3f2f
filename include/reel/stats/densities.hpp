// Discrete distributions, and those by the incomplete gamma and beta functions; one header each.
#pragma once
#include <reel/stats/bernoulli.hpp>
#include <reel/stats/beta.hpp>
#include <reel/stats/binom.hpp>
#include <reel/stats/chi2.hpp>
#include <reel/stats/gamma.hpp>
#include <reel/stats/geom.hpp>
#include <reel/stats/nbinom.hpp>
#include <reel/stats/poisson.hpp>
#include <reel/stats/t.hpp>
