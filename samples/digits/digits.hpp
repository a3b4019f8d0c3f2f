// What the samples of digits share: the images, the network and its training.
#pragma once
#include <cmath>
#include <numbers>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "../terminal/progress.hpp"

namespace digits {

inline constexpr std::int64_t side = 8, pixels = side * side, classes = 10, batch = 64;

struct Images {
  reel::Tensor pixels;  // float32 [n, 64], 0 to 1
  reel::Tensor labels;  // int64 [n]
};

struct Data {
  Images training, test;
  int epochs;  // that a training takes
};
// The measured digits of a folder with optdigits.tra and optdigits.tes; where it is empty, digits that are drawn: ten
// glyphs of 5 x 7 dots under random affine maps. Exits with a message and status 2 where a file is not as expected.
Data load(const std::string& folder);

struct Network {
  reel::Variable w1, b1, w2, b2, w3, b3;
  auto leaves() { return std::tie(w1, b1, w2, b2, w3, b3); }

  Network(reel::Generator& g, std::int64_t wide, std::int64_t narrow)
      : w1(weights(g, pixels, wide), "w1"),
        b1(reel::zeros({wide}, reel::DType::float32), "b1"),
        w2(weights(g, wide, narrow), "w2"),
        b2(reel::zeros({narrow}, reel::DType::float32), "b2"),
        w3(weights(g, narrow, classes), "w3"),
        b3(reel::zeros({classes}, reel::DType::float32), "b3") {}

  /// Scores [n, 10] of images [n, 64].
  reel::Tensor operator()(const reel::Tensor& x) const {
    const reel::Tensor h1 = reel::relu(reel::matmul(x, w1) + b1);
    const reel::Tensor h2 = reel::relu(reel::matmul(h1, w2) + b2);
    return reel::matmul(h2, w3) + b3;
  }
  /// The loss of each image, [n].
  reel::Tensor losses(const reel::Tensor& x, const reel::Tensor& labels) const {
    return reel::sparse_softmax_cross_entropy((*this)(x), labels);
  }

 private:
  // He et al. 2015: keeps the variance through a relu.
  static reel::Tensor weights(reel::Generator& g, std::int64_t in, std::int64_t out) {
    return reel::random_normal(g, {in, out}, 0, std::sqrt(2.0 / static_cast<double>(in)), reel::DType::float32);
  }
};

// Trains by Adam and returns the loss of each step. gradients(images, labels) is the mean loss of a batch and its
// gradients by network.leaves().
template <class Gradients>
std::vector<double> train(Network& network, const Data& data, reel::Generator& generator, Gradients gradients) {
  const std::int64_t n = data.training.labels.size(), steps = n / batch;
  terminal::Progress progress("epoch", data.epochs);
  std::vector<double> losses;
  reel::Adam adam({.learning_rate = 0.002});
  for (int epoch = 0; epoch < data.epochs; ++epoch) {
    adam.options.learning_rate = 0.002 * 0.5 * (1 + std::cos(std::numbers::pi * epoch / data.epochs));
    const reel::Tensor order = reel::random_permutation(generator, n);
    for (std::int64_t step = 0; step < steps; ++step) {
      const reel::Tensor rows = reel::slice(order, {reel::range(step * batch, (step + 1) * batch)});
      // A little noise on the pixels: the writers of the test file are not those of the training file.
      const reel::Tensor noise = reel::random_normal(generator, {batch, pixels}, 0, 0.25, reel::DType::float32);
      const auto [loss, slopes] =
          gradients(reel::gather(data.training.pixels, rows) + noise, reel::gather(data.training.labels, rows));
      adam.step(slopes, network.leaves());
      losses.push_back(loss.item());
    }
    progress.step("loss", losses.back());
  }
  return losses;
}

}  // namespace digits
