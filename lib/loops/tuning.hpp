// The sizes at which loops change strategy. Each is named once, with its unit, how it was chosen, and the row of
// `bench/run --filter ROW` that must be checked after a change. Constants that decide the order of a sum, and so its
// bits, are not here: they stand beside the sum.
#pragma once
#include <cstddef>
#include <cstdint>

namespace reel::loops {

/// Elements from which on loops are split among threads. An add of 32768 float64 takes about 8 us, starting the threads
/// 2 to 5. Row: "add f64, n = 1e5".
inline constexpr std::int64_t parallel_threshold = 32768;

namespace tuning {

// ---- The machine. Caches are the smallest of current x86-64 and AArch64 cores.

inline constexpr std::int64_t cache_line_bytes = 64;
inline constexpr std::int64_t l1_bytes = 32 * 1024;   // data cache of a core: 32 or 48 KiB, 64 on Apple's and Arm's
inline constexpr std::int64_t l2_bytes = 512 * 1024;  // of a core: 256 KiB to 2 MiB
/// Bytes from which on a result is written with non-temporal stores: half of the last-level cache, as reported by the
/// system; this value if the system does not report it. Rows: "stream add", "stream copy".
inline constexpr std::int64_t non_temporal_bytes_default = std::int64_t{128} << 20;
/// The system is not asked for results of fewer bytes.
inline constexpr std::int64_t non_temporal_bytes_min = std::int64_t{4} << 20;
// All loops run forwards. Alternating directions would let each loop begin with the data that the previous one left in
// the caches. It would need a variable of the process, and the speed of a loop would depend on what ran before it.
// Measured on a Xeon with 2 MiB of L2, float32, plain / alternating time: one thread, 1.2 million elements: sum 1.38,
// add 1.09, the gradient of sum(tanh(x*y)+x) 1.00; 40 million: 0.83, 0.91, 0.75; two threads, 1.2 to 4 million: 0.99 to
// 1.03 of single ops.

// ---- Grains: what one task takes. 32768 elements are 64 to 512 KiB, ten times what handing out a task costs.

inline constexpr std::int64_t copy_grain = 32768;  // elements. Row: "stream copy"
inline constexpr std::int64_t cast_grain = 32768;  // elements
inline constexpr std::int64_t fill_grain = 32768;  // elements
/// Elements of an elementwise loop: enough for tasks_wanted tasks, within these bounds. Row: "tanh forward".
inline constexpr std::int64_t pointwise_grain_min = 4096, pointwise_grain_max = 16384;
inline constexpr std::int64_t tasks_wanted = 16;  // so that threads finish at about the same time
/// Elements of a program of fused functions. Row: "fused".
inline constexpr std::int64_t program_grain = 16384;
/// Bytes of a row from which on a program reads strided operands in place, row by row, instead of packing them into
/// blocks: a kernel call per row then costs less than the copy. Row: "stencil".
inline constexpr std::int64_t program_row_bytes = 256;
/// Elements of special functions of several arguments, which take one to some hundred microseconds each.
inline constexpr std::int64_t special_grain = 64;
/// Indices along an axis that are converted to positions at a time, 4 KiB of the stack; and the least columns per task,
/// two cache lines of float64. Rows: "along_axis".
inline constexpr std::int64_t along_chunk = 512, along_columns = 64;
/// Multiply-adds of the factorisations of small matrices in one task: some 100 us at two per nanosecond. Systems solved
/// by scalar recurrences, at a tenth of that speed, take a tenth. No bench row.
inline constexpr std::int64_t factor_grain = 200000, recurrence_grain = factor_grain / 10;
/// Blocks of four draws.
inline constexpr std::int64_t random_grain = 4096;
/// Elements of the rows in one task. Rows: "softmax", "layer_norm".
inline constexpr std::int64_t rows_grain = 8192;
/// Shares of a parallel loop, each a counter in a cache line of its own. Further threads take from several shares.
inline constexpr int shares_max = 16;

// ---- Elementwise loops over strided operands. Row: "sum(transpose(x)*x)".

/// Elements of an innermost loop below which operands are packed first; up to packed_run if all packed operands repeat.
inline constexpr std::int64_t short_run = 16, packed_run = 128;
inline constexpr std::int64_t packed_elements = 512;  // of a packed operand: 5 of float64 fill 20 of 32 KiB of L1
/// Elements from which on a transposed operand is copied if no tile can hold it.
inline constexpr std::int64_t transposed_copy_elements = 4096;
inline constexpr std::int64_t transposed_tile_bytes = l1_bytes;
inline constexpr std::int64_t transposed_line_bytes = 2 * cache_line_bytes;  // of the shorter side of a tile
inline constexpr std::int64_t row_padding_bytes = cache_line_bytes;  // otherwise rows of a tile would share cache sets
inline constexpr int transposed_operands_max = 3;                    // tiles of this many operands fit the stack
/// For results that are summed, or written with non-temporal stores: a quarter of L1, beside the operands.
inline constexpr std::size_t block_bytes = static_cast<std::size_t>(l1_bytes) / 4;

// ---- Matrix products. Rows: "matmul".

/// Blocks of a and of b: they share the second-level cache with each other and with c.
inline constexpr std::int64_t product_a_bytes = l2_bytes / 2, product_b_bytes = l2_bytes;
/// Panels of one factor up to which the other factor is read in place, unpacked.
inline constexpr std::int64_t product_direct_panels = 2;
/// Multiplications from which on a product of the library's kernels is split among threads: 20 us on one thread, where
/// starting the threads takes 2 to 5. From product_large on, about a millisecond, there are more tiles than threads.
inline constexpr std::int64_t product_split = std::int64_t{1} << 20, product_large = std::int64_t{1} << 26;
/// Packed factors up to this size are on the stack.
inline constexpr std::int64_t product_stack_bytes = l1_bytes;

}  // namespace tuning
}  // namespace reel::loops
