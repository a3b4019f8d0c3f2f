// Monthly differences of atmospheric pressure between Easter Island and Darwin, 168 months, and what NIST certifies for
// a least-squares fit of three cycles to them. Source: NIST/ITL Statistical Reference Datasets, ENSO; public domain.
#pragma once
#include <array>

namespace enso {

// clang-format off
inline constexpr std::array<double, 168> pressure = {
  12.9, 11.3, 10.6, 11.2, 10.9, 7.5, 7.7, 11.7, 12.9, 14.3, 10.9, 13.7, 17.1, 14, 15.3, 8.5, 5.7, 5.5, 7.6, 8.6,
  7.3, 7.6, 12.7, 11, 12.7, 12.9, 13, 10.9, 10.4, 10.2, 8, 10.9, 13.6, 10.5, 9.2, 12.4, 12.7, 13.3, 10.1, 7.8, 4.8,
  3, 2.5, 6.3, 9.7, 11.6, 8.6, 12.4, 10.5, 13.3, 10.4, 8.1, 3.7, 10.7, 5.1, 10.4, 10.9, 11.7, 11.4, 13.7, 14.1, 14,
  12.5, 6.3, 9.6, 11.7, 5, 10.8, 12.7, 10.8, 11.8, 12.6, 15.7, 12.6, 14.8, 7.8, 7.1, 11.2, 8.1, 6.4, 5.2, 12, 10.2,
  12.7, 10.2, 14.7, 12.2, 7.1, 5.7, 6.7, 3.9, 8.5, 8.3, 10.8, 16.7, 12.6, 12.5, 12.5, 9.8, 7.2, 4.1, 10.6, 10.1,
  10.1, 11.9, 13.6, 16.3, 17.6, 15.5, 16, 15.2, 11.2, 14.3, 14.5, 8.5, 12, 12.7, 11.3, 14.5, 15.1, 10.4, 11.5, 13.4,
  7.5, 0.6, 0.3, 5.5, 5, 4.6, 8.2, 9.9, 9.2, 12.5, 10.9, 9.9, 8.9, 7.6, 9.5, 8.4, 10.7, 13.6, 13.7, 13.7, 16.5,
  16.8, 17.1, 15.4, 9.5, 6.1, 10.1, 9.3, 5.3, 11.2, 16.6, 15.6, 12, 11.5, 8.6, 13.8, 8.7, 8.6, 8.6, 8.7, 12.8, 13.2,
  14, 13.4, 14.8};
// clang-format on

// Months: the periods of the two cycles beside the annual one, b4 and b7, and their standard deviations.
inline constexpr double period[] = {44.311088700, 26.887614440}, period_deviation[] = {0.94408025976, 0.41612939130};
inline constexpr double residual_deviation = 2.2269642403;

}  // namespace enso
