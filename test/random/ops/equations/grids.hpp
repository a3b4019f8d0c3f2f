// B-splines and values on grids, which add_interpolation adds too.
#pragma once
#include "../../program.hpp"

namespace random_programs {

void add_grids(std::vector<Op>& table);

/// Ascending knots: a value of the program in [-1, 1] plus 0, step, 2 step ...; -1 if there is none.
int ascending_knots(Maker& m, std::int64_t count, double step);
std::vector<Jet> jets_of_row(const Array& x);
/// For references: the whole number below. Ambiguous within error of one; Unfit far from 0.
std::int64_t floor_of(const Jet& x);
/// With the error that rounding of polynomials and of systems for slopes has: at the size of all numbers.
Jet settled(Jet y, const Inputs& in);

}  // namespace random_programs
