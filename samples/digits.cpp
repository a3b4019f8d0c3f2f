// Trains a small network on the UCI optical digits (official split) and tests it: --data DIR holds optdigits.tra and
// optdigits.tes, --svg FILE takes the pictures. Succeeds if at least 97.0 % of the test digits are recognised.
// Data: E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, doi 10.24432/C50P49 (CC BY 4.0).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <sstream>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::DType, reel::Tensor, reel::Variable;

namespace {

constexpr std::int64_t pixels = 64, classes = 10;
constexpr int skipped = 77;  // exit status of a test that cannot run

struct Digits {
  Tensor images;  // float32 [n, 64], 0 to 1
  Tensor labels;  // int64 [n]
};

// Rows of 65 integers: 64 pixels 0..16, then the digit. Exits with a message when the file is not like that.
Digits read(const std::string& path) {
  std::ifstream file(path);
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    std::vector<int> values;
    for (int v; row >> v;) values.push_back(v);
    const bool fits = row.eof() && values.size() == pixels + 1 && values.back() >= 0 && values.back() < classes &&
                      std::all_of(values.begin(), values.end(), [](int v) { return v >= 0 && v <= 16; });
    if (!fits) {
      std::cerr << path << ":" << number << ": expected 64 pixels from 0 to 16 and a digit, separated by commas\n";
      std::exit(2);
    }
    for (std::int64_t i = 0; i < pixels; ++i)
      images.push_back(static_cast<float>(values[static_cast<std::size_t>(i)]) / 16);
    labels.push_back(values.back());
  }
  const auto n = static_cast<std::int64_t>(labels.size());
  return {reel::from_data(images, {n, pixels}), reel::from_data(labels)};
}

struct Network {
  Variable w1, b1, w2, b2, w3, b3;
  auto leaves() { return std::tie(w1, b1, w2, b2, w3, b3); }

  Network(reel::Generator& g, std::int64_t wide, std::int64_t narrow)
      : w1(weights(g, pixels, wide), "w1"),
        b1(reel::zeros({wide}, DType::float32), "b1"),
        w2(weights(g, wide, narrow), "w2"),
        b2(reel::zeros({narrow}, DType::float32), "b2"),
        w3(weights(g, narrow, classes), "w3"),
        b3(reel::zeros({classes}, DType::float32), "b3") {}

  /// Scores [n, 10] of images [n, 64].
  Tensor operator()(const Tensor& x) const {
    const Tensor h1 = reel::relu(reel::matmul(x, w1) + b1);
    const Tensor h2 = reel::relu(reel::matmul(h1, w2) + b2);
    return reel::matmul(h2, w3) + b3;
  }

 private:
  // He et al. 2015: keeps the variance through a relu.
  static Tensor weights(reel::Generator& g, std::int64_t in, std::int64_t out) {
    return reel::random_normal(g, {in, out}, 0, std::sqrt(2.0 / static_cast<double>(in)), DType::float32);
  }
};

struct Training {
  std::vector<double> losses;  // one per step
  double seconds = 0;
};

Training train(const Network& network, const Digits& data, reel::Generator& generator) {
  constexpr int epochs = 60;
  constexpr std::int64_t batch = 64;
  const std::int64_t n = data.labels.size(), steps = n / batch;
  terminal::Progress progress("epoch", epochs);
  Training result;
  reel::Adam adam({.learning_rate = 0.002});
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    adam.options.learning_rate = 0.002 * 0.5 * (1 + std::cos(std::acos(-1.0) * epoch / epochs));
    const Tensor order = reel::random_permutation(generator, n);
    for (std::int64_t step = 0; step < steps; ++step) {
      const Tensor rows = reel::slice(order, {reel::range(step * batch, (step + 1) * batch)});
      // A little noise on the pixels: the writers of the test file are not those of the training file.
      const Tensor noise = reel::random_normal(generator, {batch, pixels}, 0, 0.25, DType::float32);
      const Tensor images = reel::gather(data.images, rows) + noise, labels = reel::gather(data.labels, rows);
      reel::GradientTape tape;
      const Tensor loss = reel::mean(reel::sparse_softmax_cross_entropy(network(images), labels));
      adam.step(tape.gradient(loss, network), network);
      result.losses.push_back(loss.item());
    }
    progress.step("loss", result.losses.back());
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

struct Mistake {
  std::int64_t row, truth, guess;
  double confidence;
};

void draw(const std::string& path, const Training& training, const Digits& test, const std::vector<Mistake>& mistakes) {
  std::ofstream svg(path);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' width='760' height='430' font-family='sans-serif' font-size='12'>\n"
         "<rect width='760' height='430' fill='white'/>\n<text x='50' y='24' font-size='15'>Training loss "
         "(logarithmic)</text>\n";
  const double low = -4, high = 0.6, left = 50, width = 690, top = 40, height = 190;
  const auto y_of = [&](double loss) {
    return top + height * (high - std::clamp(std::log10(std::max(loss, 1e-9)), low, high)) / (high - low);
  };
  for (int power = static_cast<int>(low); power <= 0; ++power)
    svg << "<line x1='" << left << "' x2='" << left + width << "' y1='" << y_of(std::pow(10, power)) << "' y2='"
        << y_of(std::pow(10, power)) << "' stroke='#ddd'/><text x='" << left - 6 << "' y='"
        << y_of(std::pow(10, power)) + 4 << "' text-anchor='end'>1e" << power << "</text>\n";
  svg << "<polyline fill='none' stroke='#1f5fa8' points='";
  // The mean over each of 230 ranges of steps: the losses of single batches scatter too much.
  const std::size_t points = std::min<std::size_t>(230, training.losses.size());
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t from = i * training.losses.size() / points, to = (i + 1) * training.losses.size() / points;
    double sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += training.losses[k];
    svg << left + width * static_cast<double>(i) / static_cast<double>(points) << ','
        << y_of(sum / static_cast<double>(to - from)) << ' ';
  }
  svg << "'/>\n<text x='" << left + width << "' y='" << top + height + 16 << "' text-anchor='end'>step "
      << training.losses.size()
      << "</text>\n<text x='50' y='280' font-size='15'>The ten most confidently wrong</text>\n";
  const std::vector<float> images = test.images.to_vector<float>();
  for (std::size_t k = 0; k < std::min<std::size_t>(10, mistakes.size()); ++k) {
    const Mistake& m = mistakes[k];
    const double x0 = left + 70 * static_cast<double>(k), y0 = 295;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const int shade = 255 - static_cast<int>(255 * images[static_cast<std::size_t>(m.row * pixels + p)]);
      svg << "<rect x='" << x0 + 7 * static_cast<double>(p % 8) << "' y='" << y0 + 7 * static_cast<double>(p / 8)
          << "' width='7' height='7' fill='rgb(" << shade << ',' << shade << ',' << shade << ")'/>";
    }
    svg << "\n<text x='" << x0 << "' y='" << y0 + 74 << "'>is " << m.truth << "</text><text x='" << x0 << "' y='"
        << y0 + 90 << "'>read " << m.guess << "</text><text x='" << x0 << "' y='" << y0 + 106 << "' fill='#777'>"
        << std::lround(100 * m.confidence) << " %</text>\n";
  }
  svg << "</svg>\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::string data, picture = "digits.svg";
  chart::read_arguments(argc, argv, {{"--data", "DIR", &data}, {"--svg", "FILE", &picture}});
  if (data.empty() || !std::ifstream(data + "/optdigits.tra") || !std::ifstream(data + "/optdigits.tes")) {
    std::cerr << "digits: skipped; --data DIR must name a folder with optdigits.tra and optdigits.tes (UCI, doi "
                 "10.24432/C50P49)\n";
    return skipped;
  }
  const Digits training_set = read(data + "/optdigits.tra"), test_set = read(data + "/optdigits.tes");
  reel::Generator generator(1998);
  const Network network(generator, 256, 128);
  const Training training = train(network, training_set, generator);

  const Tensor probabilities = reel::softmax(network(test_set.images));
  const auto guesses = reel::argmax(probabilities, 1).to_vector<std::int64_t>();
  const auto confidence = reel::max(probabilities, 1).to_vector<float>();
  const auto truths = test_set.labels.to_vector<std::int64_t>();
  int table[classes][classes] = {};
  std::vector<Mistake> mistakes;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    ++table[truths[i]][guesses[i]];
    if (truths[i] != guesses[i])
      mistakes.push_back({static_cast<std::int64_t>(i), truths[i], guesses[i], confidence[i]});
  }
  std::sort(mistakes.begin(), mistakes.end(),
            [](const Mistake& a, const Mistake& b) { return a.confidence > b.confidence; });

  std::printf("digit | read as 0    1    2    3    4    5    6    7    8    9\n");
  for (int truth = 0; truth < classes; ++truth) {
    std::printf("    %d |     ", truth);
    for (int guess = 0; guess < classes; ++guess)
      table[truth][guess] ? std::printf(" %4d", table[truth][guess]) : std::printf("    .");
    std::printf("\n");
  }
  draw(picture, training, test_set, mistakes);
  const double right =
      100.0 * static_cast<double>(truths.size() - mistakes.size()) / static_cast<double>(truths.size());
  std::printf("%.2f %% of %zu test digits recognised after %.1f s of training on %lld; pictures in %s\n", right,
              truths.size(), training.seconds, static_cast<long long>(training_set.labels.size()), picture.c_str());
  if (right < 97.0) std::printf("FAILED: at least 97.0 %% were wanted\n");
  return right < 97.0 ? 1 : 0;
}
