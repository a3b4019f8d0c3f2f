// Every public op with extreme values of every parameter: empty handles, every dtype, shapes of no or too many
// elements, axes and sizes at the ends of int64, NaN, numbers outside an enumeration. In a process with little memory,
// a call must return a result or throw a reel::Error that begins with the name of the function called (or
// std::bad_alloc if a result is too large). It is a program of its own: a crash does not end other tests, and the
// program prints which call ran.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "hostile/binary_ops.hpp"
#include "hostile/grids.hpp"
#include "hostile/kept_tensors.hpp"
#include "hostile/operands.hpp"
#include "hostile/ops.hpp"
#include "hostile/rows.hpp"
#include "hostile/scientific_ops.hpp"

using namespace reel;

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();

char running[400];  // printed by the signal handler
int calls = 0, refused = 0, failures = 0;

void report_crash(int signal) {
  std::fprintf(stderr, "signal %d in %s\n", signal, running);
  std::_Exit(1);
}

void fail(const char* why) {
  ++failures;
  std::fprintf(stderr, "%s: %s\n", running, why);
}

enum class Outcome { any, refusal };

// Calls f, whose errors begin with `name`. refusal: it must throw.
void call(const std::string& name, const std::string& with, const std::function<void()>& f,
          Outcome expected = Outcome::any) {
  std::snprintf(running, sizeof running, "%s(%s)", name.c_str(), with.c_str());
  ++calls;
  try {
    f();
    if (expected == Outcome::refusal) fail("accepted");
  } catch (const Error& e) {
    ++refused;
    const std::string text = e.what();
    if (text.compare(0, name.size() + 1, name + ":") != 0) fail(("the message does not name it: " + text).c_str());
  } catch (const std::bad_alloc&) {
    ++refused;
  } catch (const std::exception& e) {
    fail((std::string("threw what is no reel::Error: ") + e.what()).c_str());
  }
}

const std::vector<std::int64_t> integers{least, least + 1, -33, -5, -2, -1, 0, 1, 2, 4, 33, most - 1, most};
const std::vector<Shape> shapes{{},
                                {0},
                                {-1},
                                {-1, -1},
                                {-2},
                                {most},
                                {most, 2},
                                {most, most},
                                {most, 0},
                                {most, most, 0},
                                {0, most, most},
                                {least},
                                {1, least},
                                {7, 11},
                                {-1, most},
                                std::vector(32, 1)};
const std::vector<std::vector<std::int64_t>> axis_lists{{}, {0, 0}, {0, -2}, {least}, {most}, {0, 1, 2, 3}, {-1, 0}};

void ops_of_tensors() {
  const std::vector<Named> x = operands();
  const bool huge_only_for_views = true;
  for (const Unary& op : with_rows(with_grids(unary_ops()), true)) {
    call(
        op.name, "an empty handle", [&] { op.f(Tensor()); }, Outcome::refusal);
    for (const Named& a : x)
      if (huge_only_for_views && a.value.size() < 1 << 20) call(op.name, a.what, [&] { op.f(a.value); });
  }
  for (const Binary& op : with_rows(with_grids(binary_ops()))) {
    call(
        op.name, "empty handles", [&] { op.f(Tensor(), Tensor()); }, Outcome::refusal);
    call(
        op.name, "an empty handle second",
        [&] {
          op.f(ones({2, 2}), Tensor());
        },
        Outcome::refusal);
    for (const Named& a : x)
      for (const Named& b : x)
        if (a.value.size() < 1 << 20 && b.value.size() < 1 << 20)
          call(op.name, a.what + ", " + b.what, [&] { op.f(a.value, b.value); });
  }
}

// Every op with a few operands, further ones of the library among them, also while a function is traced: there values
// are refused when the program runs, by primitives that the op is made of.
void ops_of_few_operands() {
  const Tensor out_of_range = from_data(std::vector<std::int64_t>{-9, 7, 2});
  const std::vector<Named> x = {{"[3]", ones({3})},
                                {"[2, 2] of NaN", full({2, 2}, not_a_number)},
                                {"[0]", zeros({0})},
                                {"int64 [3], out of range", out_of_range},
                                {"int64 [1, 3], out of range", reshape(out_of_range, {1, 3})},
                                {"bool [2, 2]", ones({2, 2}, DType::boolean)},
                                {"[1, 1, 3, 3]", ones({1, 1, 3, 3})}};
  for (const Unary& op : joined(with_rows(with_grids(unary_ops()), true), scientific_unary_ops()))
    for (const Named& a : x) {
      call(op.name, a.what, [&] { op.f(a.value); });
      const auto traced = compile([&](const Tensor& t) {
        op.f(t);
        return t;
      });
      call(op.name, "compiled: " + a.what, [&] { traced(a.value); });
    }
  for (const Binary& op : joined(with_rows(with_grids(binary_ops()), true), scientific_binary_ops()))
    for (const Named& a : x)
      for (const Named& b : x) {
        call(op.name, a.what + ", " + b.what, [&] { op.f(a.value, b.value); });
        const auto traced = compile([&](const Tensor& s, const Tensor& t) {
          op.f(s, t);
          return s;
        });
        call(op.name, "compiled: " + a.what + ", " + b.what, [&] { traced(a.value, b.value); });
      }
}

// The same with 2^40 elements: the result does not fit.
void too_large() {
  const Tensor x = broadcast_to(ones({1}), {std::int64_t{1} << 40});
  call(
      "add", "2^40 elements", [&] { add(x, 1.0); }, Outcome::refusal);
  call(
      "exp", "2^40 elements", [&] { exp(x); }, Outcome::refusal);
  call(
      "concatenate", "2^40 elements",
      [&] {
        concatenate({x, x});
      },
      Outcome::refusal);
  call(
      "outer", "2^40 elements", [&] { outer(x, x); }, Outcome::refusal);
  call(
      "tile", "2^40 elements", [&] { tile(x, {most}); }, Outcome::refusal);
  call(
      "contiguous", "2^40 elements", [&] { contiguous(x); }, Outcome::refusal);
  call(
      "eye", "2^32", [&] { eye(std::int64_t{1} << 32); }, Outcome::refusal);
  call(
      "one_hot", "2^60", [&] { one_hot(zeros({4}, DType::int64), std::int64_t{1} << 60); }, Outcome::refusal);
}

void axes_and_sizes() {
  const Tensor m = ones({2, 3}), images = ones({1, 2, 4, 4}), indices = zeros({2, 3}, DType::int64);
  for (const std::int64_t i : integers) {
    const std::string text = std::to_string(i);
    const Outcome axis = i >= -2 && i <= 1 ? Outcome::any : Outcome::refusal;
    const auto at = [&](const char* name, auto f, Outcome o = Outcome::any) { call(name, text, f, o); };
    at(
        "sum", [&] { sum(m, i); }, axis);
    at(
        "max", [&] { max(m, i); }, axis);
    at(
        "argmax", [&] { argmax(m, i); }, axis);
    at(
        "argmin", [&] { argmin(m, i); }, axis);
    at(
        "softmax", [&] { softmax(m, i); }, axis);
    at(
        "log_softmax", [&] { log_softmax(m, i); }, axis);
    at(
        "cumsum", [&] { cumsum(m, i); }, axis);
    at(
        "cumprod", [&] { cumprod(m, i); }, axis);
    at(
        "moveaxis", [&] { moveaxis(m, i, 0); }, axis);
    at(
        "moveaxis", [&] { moveaxis(m, 0, i); }, axis);
    at(
        "squeeze",
        [&] {
          squeeze(ones({1, 1}), i);
        },
        axis);
    at(
        "expand_dims", [&] { expand_dims(m, i); }, i >= -3 && i <= 2 ? Outcome::any : Outcome::refusal);
    at(
        "flip", [&] { flip(m, i); }, axis);
    at("roll", [&] { roll(m, i, 0); });
    at(
        "roll", [&] { roll(m, 1, i); }, axis);
    at("repeat", [&] { repeat(m, i, 0); });
    at(
        "repeat", [&] { repeat(m, 1, i); }, axis);
    at(
        "concatenate",
        [&] {
          concatenate({m, m}, i);
        },
        axis);
    at(
        "stack",
        [&] {
          stack({m, m}, i);
        },
        i >= -3 && i <= 2 ? Outcome::any : Outcome::refusal);
    at("split", [&] { split(m, i, 0); });
    at(
        "split", [&] { split(m, 1, i); }, axis);
    at("split_sizes", [&] { split_sizes(m, {i, 2}, 0); });
    at(
        "split_sizes",
        [&] {
          split_sizes(m, {1, 1}, i);
        },
        i == 0 || i == -2 ? Outcome::any : Outcome::refusal);
    at(
        "unstack", [&] { unstack(m, i); }, axis);
    at(
        "gather", [&] { gather(m, 0, i); }, axis);
    at(
        "gather", [&] { gather(m, scalar<std::int64_t>(i)); }, axis);
    at(
        "take_along_axis", [&] { take_along_axis(m, indices, i); }, axis);
    at(
        "sort", [&] { sort(m, i); }, axis);
    at(
        "median", [&] { median(m, i); }, axis);
    at("top_k", [&] { top_k(m, i); });
    at("kth_value", [&] { kth_value(m, i); });
    at("partition", [&] { partition(m, i); });
    at(
        "top_k", [&] { top_k(m, 1, i); }, axis);
    at("segment_sum", [&] { segment_sum(m, zeros({2}, DType::int64), i); });
    at("bincount", [&] { bincount(indices, i); });
    at("nonzero", [&] { nonzero(m, {.size = i}); });
    at("embedding", [&] { embedding(m, 0, i); });
    at(
        "index", [&] { index(m, {scalar(i)}); }, axis);
    at("take", [&] { take(m, scalar(i), IndexMode::wrap); });
    at("take", [&] { take(m, scalar(i), IndexMode::clip); });
    at("slice_update", [&] { slice_update(m, {range(i, most)}, 1); });
    at(
        "put_along_axis", [&] { put_along_axis(m, indices, 1, i); }, axis);
    at("choose", [&] { choose(scalar(i), {m, m}, IndexMode::wrap); });
    at("choose", [&] { choose(scalar(i), {m, m}, IndexMode::clip); });
    at("unflatten", [&] { unflatten(m, 0, {i, -1}); });
    at("channel_shuffle", [&] { channel_shuffle(ones({4, 1, 1}), i); });
    at(
        "append", [&] { append(m, m, i); }, axis);
    at(
        "moveaxis",
        [&] {
          moveaxis(m, {i, 0}, {1, 0});
        },
        axis);
    at("diag_embed", [&] { diag_embed(m, i); });
    at("set_diagonal", [&] { set_diagonal(m, 1, i); });
    at("band_part", [&] { band_part(m, i, i); });
    at("rot90", [&] { rot90(m, i); });
    at("vander", [&] { vander(m, i); });
    at(
        "cross", [&] { cross(m, m, i); }, i == -1 || i == 1 ? Outcome::any : Outcome::refusal);
    at(
        "vecdot", [&] { vecdot(m, m, i); }, axis);
    at("matrix_power", [&] { matrix_power(ones({2, 2}), i); });
    at("banded_solve", [&] { banded_solve(m, i, 0, m); });
    at("banded_solve", [&] { banded_solve(m, 1, i, m); });
    at("tensorinv", [&] { tensorinv(ones({2, 3, 6}), i); });
    at("matrix_norm", [&] { matrix_norm(m, static_cast<MatrixNorm>(i)); });
    at("cond", [&] { cond(m, static_cast<MatrixNorm>(i)); });
    at("array_split", [&] { array_split(m, i); });
    at("linspace", [&] { linspace(m, 1, i); });
    at("repeat", [&] { repeat(m, full({2}, i), 0); });
    at("diff", [&] { diff(m, i); });
    at("fft", [&] { fft(m, i); });
    at("rfft", [&] { rfft(m, i, 0); });
    at("irfft", [&] { irfft(m, i); });
    at("dct", [&] { dct(m, static_cast<int>(i)); });
    at(
        "dst", [&] { dst(m, 2, i); }, axis);
    at(
        "lfilter", [&] { lfilter(ones({2}), ones({2}), m, i); }, axis);
    at(
        "unwrap", [&] { unwrap(m, i); }, axis);
    at(
        "sosfilt",
        [&] {
          sosfilt(ones({1, 6}), m, i);
        },
        axis);
    at("welch", [&] { welch(m, ones({2}), {.hop = i}); });
    at("csd", [&] { csd(m, m, ones({2}), {.n = i}); });
    at("welch", [&] { welch(m, ones({2}), {.trend = static_cast<Trend>(i), .scale = static_cast<PowerScale>(i)}); });
    at("stft", [&] { stft(m, ones({2}), i); });
    at("istft", [&] { istft(cast(m, DType::complex64), ones({2}), i); });
    at("hann", [&] { hann(i); });
    at("kaiser", [&] { kaiser(i, static_cast<double>(i), true); });
    at("fftfreq", [&] { fftfreq(i); });
    at("rfftfreq", [&] { rfftfreq(i, static_cast<double>(i)); });
    at(
        "hfft", [&] { hfft(m, 3, i); }, axis);
    at("sliding_window", [&] { sliding_window(m, i, 0, i, i); });
    at("sliding_window", [&] { sliding_window(m, 1, 0, i, i); });
    at("overlap_add", [&] { overlap_add(m, 0, i, i); });
    at("overlap_add", [&] { overlap_add(m, 0, 1, 1, i); });
    at("pad", [&] { pad(m, {i, 0}, {0, i}, PadMode::reflect); });
    at("pixel_shuffle", [&] { pixel_shuffle(ones({4, 1, 1}), i); });
    at("pixel_unshuffle", [&] { pixel_unshuffle(ones({1, 2, 2}), i); });
    at("space_to_batch", [&] { space_to_batch(m, {i}, {i}, {0}); });
    at("batch_to_space", [&] { batch_to_space(m, {i}, {i}, {i}); });
    at(
        "cummax", [&] { cummax(m, i); }, axis);
    at(
        "logcumsumexp", [&] { logcumsumexp(m, i); }, axis);
    at(
        "swapaxes", [&] { swapaxes(m, i, 0); }, axis);
    at("diag", [&] { diag(ones({3}), i); });
    at("diagonal", [&] { diagonal(m, i); });
    at("tril", [&] { tril(m, i); });
    at("triu", [&] { triu(m, i); });
    at("trace", [&] { trace(m, i); });
    at("one_hot", [&] { one_hot(indices, i); });
    at("tensordot", [&] { tensordot(m, m, i); });
    at("tensordot", [&] { tensordot(m, m, i, i); });
    at("eye", [&] { eye(i, 2); });
    at("eye", [&] { eye(2, i); });
    at("linspace", [&] { linspace(0, 1, i); });
    at("pad", [&] { pad(m, {i, 0}, {0, 0}); });
    at("b_spline", [&] { b_spline(arange(6), arange(4), static_cast<int>(i)); });
    at("map_coordinates", [&] { map_coordinates(m, m, {static_cast<int>(i), static_cast<Border>(i)}); });
    at("affine_grid", [&] { affine_grid(ones({1, 2, 3}), {1, i, i, 2}); });
    at("resize", [&] { resize(m, {2, i}); });
    at("resize", [&] { resize(m, {i, 1}, {static_cast<ResizeMethod>(i), false, true}); });
    at("affine_grid", [&] { affine_grid(ones({1, 3, 4}), {1, 1, 1, i, 1}, true); });
    at("grid_sample", [&] {
      grid_sample(images, zeros({1, 1, 1, 2}), {static_cast<GridMethod>(i), static_cast<GridPadding>(i)});
    });
    at("slice", [&] { slice(m, {range(i, most)}); });
    at("slice", [&] { slice(m, {range(least, i, -1)}); });
    at("slice", [&] { slice(m, {range(0, 2, i)}); });
    at(
        "slice", [&] { slice(m, {i}); }, axis);
    at("conv2d", [&] { conv2d(images, ones({2, 2, 2, 2}), {.stride = {i, 1}}); });
    at("conv2d", [&] { conv2d(images, ones({2, 2, 2, 2}), {.dilation = {1, i}}); });
    at("conv2d", [&] { conv2d(images, ones({2, 2, 2, 2}), {.groups = i}); });
    at("conv2d", [&] { conv2d(images, ones({2, 2, 2, 2}), {.padding = {{i, 0}, {0, i}}}); });
    at("conv2d_transpose", [&] { conv2d_transpose(images, ones({2, 2, 2, 2}), {.size = {i, 4}}); });
    at("max_pool2d", [&] { max_pool2d(images, {i, 2}); });
    at("max_pool2d", [&] { max_pool2d(images, {2, 2}, {.stride = {i, i}}); });
    at("avg_pool2d", [&] { avg_pool2d(images, {2, i}); });
    const Tensor sequence = ones({1, 2, 4}), volume = ones({1, 2, 3, 2, 2});
    at("conv1d", [&] { conv1d(sequence, ones({2, 2, 2}), {.stride = i}); });
    at("conv1d", [&] { conv1d(sequence, ones({2, 2, 2}), {.padding = {i, 0}, .groups = i}); });
    at("conv1d", [&] { conv1d(sequence, ones({2, 2, 2}), {.padding = {0, i}, .dilation = i}); });
    at("conv1d_transpose", [&] { conv1d_transpose(sequence, ones({2, 2, 2}), {.size = i}); });
    at("max_pool1d", [&] { max_pool1d(sequence, i, {.stride = i}); });
    at("max_pool1d", [&] { max_pool1d(sequence, 2, {.padding = {i, i}}); });
    at("avg_pool1d", [&] { avg_pool1d(sequence, i); });
    at("conv3d", [&] { conv3d(volume, ones({2, 2, 2, 1, 1}), {.stride = {i, 1, 1}, .groups = 2}); });
    at("conv3d", [&] { conv3d(volume, ones({2, 2, 2, 1, 1}), {.padding = {{i, 0}, {0, i}, {0, 0}}}); });
    at("conv3d", [&] { conv3d(volume, ones({2, 2, 2, 1, 1}), {.dilation = {i, 1, i}}); });
    at("conv3d_transpose", [&] { conv3d_transpose(volume, ones({2, 2, 2, 1, 1}), {.size = {i, 2, 2}}); });
    at("max_pool3d", [&] { max_pool3d(volume, {i, 1, 2}, {.padding = {{0, 0}, {i, 1}, {0, 0}}}); });
    at("avg_pool3d", [&] { avg_pool3d(volume, {2, 2, i}); });
    at("adaptive_avg_pool1d", [&] { adaptive_avg_pool1d(sequence, i); });
    at("adaptive_max_pool2d", [&] { adaptive_max_pool2d(images, {2, i}); });
    at("adaptive_avg_pool3d", [&] { adaptive_avg_pool3d(volume, {i, 1, i}); });
    at("max_pool2d_with_indices", [&] { max_pool2d_with_indices(images, {2, i}, {.stride = {i, 1}}); });
    at("max_pool2d_with_indices", [&] { max_pool2d_with_indices(images, {2, 2}, {.padding = {{i, 0}, {0, i}}}); });
    at("max_pool1d_with_indices", [&] { max_pool1d_with_indices(sequence, i, {.stride = 1, .padding = {i, 0}}); });
    at("max_pool3d_with_indices", [&] { max_pool3d_with_indices(volume, {2, i, 1}, {.stride = {1, i, 1}}); });
    at("max_pool3d_with_indices", [&] { max_pool3d_with_indices(volume, {2, 2, 2}, {.dilation = {1, 1, i}}); });
    at("max_unpool1d", [&] { max_unpool1d(sequence, zeros({1, 2, 4}, DType::int64), i); });
    at("max_unpool3d", [&] { max_unpool3d(volume, zeros({1, 2, 3, 2, 2}, DType::int64), {i, i, i}); });
    at("max_unpool3d", [&] { max_unpool3d(volume, full({1, 2, 3, 2, 2}, i, DType::int64), {2, 3, 4}); });
    at("max_unpool2d", [&] { max_unpool2d(images, zeros({1, 2, 4, 4}, DType::int64), {i, i}); });
    at("max_unpool2d", [&] { max_unpool2d(images, full({1, 2, 4, 4}, i, DType::int64), {4, 4}); });
    at("lp_pool1d", [&] { lp_pool1d(sequence, 2, i, i); });
    at("lp_pool1d", [&] { lp_pool1d(sequence, 2, 2, i); });
    at("lp_pool3d", [&] { lp_pool3d(volume, 2, {1, i, 2}, {i, 1, i}); });
    at("lp_pool2d", [&] { lp_pool2d(images, 2, {1, i}, {i, 1}); });
    at("fractional_max_pool2d", [&] { fractional_max_pool2d(images, {2, i}, {i, 2}, zeros({1, 2, 2})); });
    at("dilation2d", [&] { dilation2d(images, ones({2, 2, 2}), {.stride = {i, 1}, .padding = {{0, i}, {i, 0}}}); });
    at("erosion2d", [&] { erosion2d(images, ones({2, 2, 2}), {.dilation = {1, i}}); });
    at("embedding_bag", [&] { embedding_bag(m, full({1, 2}, i, DType::int64)); });
    at("embedding_bag", [&] { embedding_bag(m, zeros({2}, DType::int64), full({1}, i, DType::int64)); });
    at("embedding_bag", [&] { embedding_bag(m, zeros({1, 2}, DType::int64), {.padding_id = i}); });
    at("group_norm", [&] { group_norm(sequence, i); });
    at("local_response_norm", [&] { local_response_norm(sequence, {.size = i}); });
    at(
        "l2_normalize", [&] { l2_normalize(m, {.axes = i}); }, axis);
    at("batch_norm", [&] { batch_norm(images, ones({2}), zeros({2}), {.axis = i}); });
    at(
        "layer_norm", [&] { layer_norm(m, {.axes = i}); }, axis);
    at(
        "softmax_cross_entropy", [&] { softmax_cross_entropy(m, m, {.axis = i}); }, axis);
    at("sparse_softmax_cross_entropy", [&] { sparse_softmax_cross_entropy(m, zeros({2}, DType::int64), {.axis = i}); });
    const Tensor two = zeros({2}, DType::int64);
    at("nll", [&] { nll(m, two, {.axis = i}); });
    at("multi_margin", [&] { multi_margin(m, two, {.axis = i}); });
    at("multi_margin", [&] { multi_margin(m, two, {.p = static_cast<int>(i)}); });
    at(
        "cosine_similarity", [&] { cosine_similarity(m, m, i); }, axis);
    at(
        "triplet_margin", [&] { triplet_margin(m, m, m, {.axis = i}); }, axis);
    Generator generator(1);
    at(
        "random_shuffle", [&] { random_shuffle(generator, m, i); }, axis);
    at("random_choice", [&] { random_choice(generator, m, i < 1 << 20 || i > 1 << 30 ? i : 0); });
    at("random_choice", [&] { random_choice(generator, m, 1, false, i); });
    at("random_permutation", [&] { random_permutation(generator, i < 1 << 20 || i > 1 << 30 ? i : 0); });
    at("random_integers", [&] { random_integers(generator, {3}, i, 5); });
    at("random_integers", [&] { random_integers(generator, {3}, -5, i); });
    at("random_categorical", [&] { random_categorical(generator, m, i); });
  }
  for (const auto& list : axis_lists) {
    std::string text = "axes";
    for (const std::int64_t a : list) text += " " + std::to_string(a);
    call("sum", text, [&] { sum(m, list); });
    call("max", text, [&] { max(m, list); });
    call("var", text, [&] { var(m, list); });
    call("norm", text, [&] { norm(m, 2, list); });
    call("logsumexp", text, [&] { logsumexp(m, list); });
    call("std", text, [&] { reel::std(cast(m, DType::complex128), list); });
    call("nansum", text, [&] { nansum(indices, list); });
    call("nanprod", text, [&] { nanprod(m, list); });
    call("nanmean", text, [&] { nanmean(m, list); });
    call("nanvar", text, [&] { nanvar(m, list); });
    call("nanstd", text, [&] { nanstd(m, list); });
    call("nanmax", text, [&] { nanmax(m, list); });
    call("average", text, [&] { average(m, m, list); });
    call("clip_by_norm", text, [&] { clip_by_norm(m, 1, list); });
    call("ptp", text, [&] { ptp(m, list); });
    call("nanmedian", text, [&] { nanmedian(m, list); });
    call("nanpercentile", text, [&] { nanpercentile(m, 50, list); });
    call("l2_normalize", text, [&] { l2_normalize(m, {.axes = list}); });
    call("weighted_logsumexp", text, [&] { weighted_logsumexp(m, m, list); });
    call("flip", text, [&] { flip(m, list); });
    call("transpose", text, [&] { transpose(m, list); });
    call("squeeze", text, [&] { squeeze(m, list); });
    call("layer_norm", text, [&] { layer_norm(m, {.axes = list}); });
    call("tensordot", text, [&] { tensordot(m, m, list, list); });
    call("fftn", text, [&] { fftn(m, {}, list); });
    call("irfftn", text, [&] { irfftn(m, {2, 2}, list); });
    call("fftshift", text, [&] { fftshift(m, list); });
    call("convolve", text, [&] { convolve(m, m, ConvolveMode::full, ConvolveMethod::direct, list); });
  }
}

void shapes_and_dtypes() {
  const auto unknown = static_cast<DType>(77);
  const Tensor m = ones({2, 3});
  for (const Shape& s : shapes) {
    const std::string text = to_string(s);
    call("zeros", text, [&] { zeros(s); });
    call("ones", text, [&] { ones(s, DType::complex128); });
    call("full", text, [&] { full(s, 1); });
    call("reshape", text, [&] { reshape(m, s); });
    call("broadcast_to", text, [&] { broadcast_to(m, s); });
    call("tile", text, [&] { tile(m, s); });
    call("pad", text, [&] { pad(m, s, s); });
    call("fftn", text, [&] { fftn(m, s); });
    call("rfftn", text, [&] { rfftn(m, s); });
    call("from_data", text, [&] { from_data(std::vector<double>(7), s); });
    Generator generator(1);
    call("random_uniform", text, [&] { random_uniform(generator, s); });
    call("random_normal", text, [&] { random_normal(generator, s); });
    call("expon_rvs", text, [&] { expon_rvs(generator, s); });
    call("glorot_uniform", text, [&] { glorot_uniform(generator, s); });
    call("he_normal", text, [&] { he_normal(generator, s, DType::float32); });
    call("orthogonal", text, [&] { orthogonal(generator, s); });
    call("random_bernoulli", text, [&] { random_bernoulli(generator, s); });
  }
  call(
      "cast", "DType 77", [&] { cast(m, unknown); }, Outcome::refusal);
  call(
      "zeros", "DType 77", [&] { zeros({2}, unknown); }, Outcome::refusal);
  call(
      "full", "DType 77", [&] { full({2}, 1, unknown); }, Outcome::refusal);
  call(
      "eye", "DType 77", [&] { eye(2, unknown); }, Outcome::refusal);
  call(
      "one_hot", "DType 77", [&] { one_hot(zeros({2}, DType::int64), 2, unknown); }, Outcome::refusal);
  call(
      "linspace", "DType 77", [&] { linspace(0, 1, 3, unknown); }, Outcome::refusal);
}

void numbers() {
  const Tensor m = ones({2, 3});
  for (const double v : {not_a_number, infinity, -infinity, -1.0, 0.0, 0.5, 1e308, -1e308}) {
    const std::string text = std::to_string(v);
    Generator generator(1);
    call("norm", text, [&] { norm(m, v); });
    call("var", text, [&] { var(m, Axes(), v); });
    call("std", text, [&] { reel::std(m, Axes(), v); });
    call("huber", text, [&] { huber(m, m, v); });
    call("attention", text, [&] { attention(m, m, m, {.scale = v}); });
    call("rope", text, [&] { rope(m, v, {.base = v}); });
    call("poisson_nll", text, [&] { poisson_nll(m, m, {.epsilon = v}); });
    call("gaussian_nll", text, [&] { gaussian_nll(m, m, m, {.epsilon = v}); });
    call("focal_cross_entropy", text, [&] { focal_cross_entropy(m, m, {.alpha = v, .gamma = v}); });
    call("hinge_embedding", text, [&] { hinge_embedding(m, m, v); });
    call("triplet_margin", text, [&] { triplet_margin(m, m, m, {.p = v, .margin = v, .epsilon = v}); });
    call("group_norm", text, [&] { group_norm(m, 1, v); });
    call("instance_norm", text, [&] { instance_norm(ones({1, 2, 3}), v); });
    call("local_response_norm", text, [&] { local_response_norm(m, {.alpha = v, .beta = v, .k = v}); });
    call("l2_normalize", text, [&] { l2_normalize(m, {.epsilon = v}); });
    call("lp_pool1d", text, [&] { lp_pool1d(ones({1, 2, 3}), v, 2); });
    call("dropout", text, [&] { dropout(m, v, generator); });
    call("orthogonal", text, [&] { orthogonal(generator, {2, 2}, v); });
    call("layer_norm", text, [&] { layer_norm(m, {.epsilon = v}); });
    call("softmax_cross_entropy", text, [&] { softmax_cross_entropy(m, m, {.label_smoothing = v}); });
    call("linspace", text, [&] { linspace(v, -v, 3); });
    call("arange", text, [&] { arange(0.0, 1.0, v); });
    call("arange", text, [&] { arange(v); });
    call("random_uniform", text, [&] { random_uniform(generator, {2}, v, 1); });
    call("random_normal", text, [&] { random_normal(generator, {2}, 0, v); });
    call("random_truncated_normal", text, [&] { random_truncated_normal(generator, {2}, v, v); });
    call("random_bernoulli", text, [&] { random_bernoulli(generator, {2}, v); });
    call("SGD", text, [&] { SGD({.learning_rate = v, .momentum = v}).step(m, Variable(m)); });
    call("Adam", text, [&] { Adam({.learning_rate = v}).step(m, Variable(m)); });
    call("levenberg_marquardt", text,
         [&] { levenberg_marquardt([&](const Tensor& p) { return p * v; }, ones({1}), {.max_iterations = 3}); });
  }
  for (const char* subscripts :
       {"", "->", ",", "i,i,i", "ij,jk->ik->", "i.j", "...", "ij->ijj", "ij->k", "iij,j", "i\xff", "ij,jk->ik,",
        " ij , jk -> ik ", "IJ,JK->IK", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
    call("einsum", subscripts, [&] { einsum(subscripts, {m, ones({3, 2})}); });
}

void drivers() {
  const Tensor x = ones({3}), empty;
  const auto f = [](const Tensor& t) { return sum(t * t); };
  GradientTape tape({.persistent = true});
  call(
      "GradientTape.gradient", "empty target", [&] { static_cast<void>(tape.gradient(empty, x)); }, Outcome::refusal);
  call(
      "GradientTape.gradient", "empty source", [&] { static_cast<void>(tape.gradient(x, empty)); }, Outcome::refusal);
  call(
      "GradientTape.watch", "empty", [&] { tape.watch(empty); }, Outcome::refusal);
  call(
      "GradientTape.jacobian", "empty", [&] { static_cast<void>(tape.jacobian(empty, x)); }, Outcome::refusal);
  call(
      "grad", "empty", [&] { grad(f)(empty); }, Outcome::refusal);
  call(
      "value_and_grad", "empty", [&] { value_and_grad(f)(empty); }, Outcome::refusal);
  call(
      "hessian", "empty", [&] { hessian(f)(empty); }, Outcome::refusal);
  call(
      "jvp", "another shape", [&] { jvp(f, x, ones({4})); }, Outcome::refusal);
  call(
      "jvp", "an empty tangent", [&] { jvp(f, x, empty); }, Outcome::refusal);
  call(
      "hvp", "another shape", [&] { hvp(f)(x, ones({4})); }, Outcome::refusal);
  call(
      "grad", "no scalar", [&] { grad([](const Tensor& t) { return t; })(x); }, Outcome::refusal);
  call(
      "Variable", "empty", [&] { Variable v(empty); }, Outcome::refusal);
  call(
      "Variable.assign", "another shape", [&] { Variable(x).assign(ones({4})); }, Outcome::refusal);
  call(
      "set_num_threads", "0", [&] { set_num_threads(0); }, Outcome::refusal);
  call(
      "set_num_threads", "-1", [&] { set_num_threads(-1); }, Outcome::refusal);
  call("GradientTape.gradient", "AggregationMethod 77", [&] {
    GradientTape t;
    t.watch(x);
    const Tensor y = x * x;
    static_cast<void>(t.gradient(y, x, {.aggregation_method = static_cast<AggregationMethod>(77)}));
  });
}

}  // namespace

int main() {
  const rlimit limit{std::size_t{4} << 30, std::size_t{4} << 30};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  rlimit in_force{};
  if (getrlimit(RLIMIT_AS, &in_force) != 0 || in_force.rlim_cur != limit.rlim_cur) {
    std::puts("skipped: this system does not limit a process's memory, as qemu-user does not");
    return 77;
  }
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(s, report_crash);
  ops_of_few_operands();
  use_kept_tensors(running, sizeof running, calls, refused);
  ops_of_tensors();
  too_large();
  axes_and_sizes();
  shapes_and_dtypes();
  numbers();
  drivers();
  std::printf("%d calls, %d refused, %d wrong\n", calls, refused, failures);
  return failures != 0 || calls < 50000;
}
