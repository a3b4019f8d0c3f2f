// Trains a small network on digits and tests it. --data DIR holds optdigits.tra and optdigits.tes, the UCI optical
// digits (official split); without it the digits are drawn. --svg FILE takes the pictures. Succeeds if at least 97.0 %
// of the test digits are recognised. Data: E. Alpaydin and C. Kaynak, UCI Machine Learning Repository,
// doi 10.24432/C50P49 (CC BY 4.0).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../chart/chart.hpp"
#include "digits.hpp"

using reel::Tensor, digits::pixels, digits::classes;

namespace {

struct Training {
  std::vector<double> losses;  // one per step
  double seconds = 0;
};

Training train(digits::Network& network, const digits::Data& data, reel::Generator& generator) {
  const auto start = std::chrono::steady_clock::now();
  const auto gradients = [&](const Tensor& images, const Tensor& labels) {
    reel::GradientTape tape;
    const Tensor loss = reel::mean(network.losses(images, labels));
    return std::pair(loss, tape.gradient(loss, network.leaves()));
  };
  Training result{digits::train(network, data, generator, gradients)};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

struct Mistake {
  std::int64_t row, truth, guess;
  double confidence;
};

void draw(const std::string& path, const Training& training, const digits::Images& test,
          const std::vector<Mistake>& mistakes) {
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
      << training.losses.size() << "</text>\n<text x='50' y='280' font-size='15'>The most confidently wrong</text>\n";
  const std::vector<float> images = test.pixels.to_vector<float>();
  for (std::size_t k = 0; k < std::min<std::size_t>(10, mistakes.size()); ++k) {
    const Mistake& m = mistakes[k];
    const double x0 = left + 70 * static_cast<double>(k), y0 = 295;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float dark = images[static_cast<std::size_t>(m.row * pixels + p)];
      if (dark <= 0) continue;
      const int shade = 255 - static_cast<int>(255 * dark);
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
  std::string folder, picture = "digits.svg";
  chart::read_arguments(argc, argv, {{"--data", "DIR", &folder}, {"--svg", "FILE", &picture}});
  const digits::Data data = digits::load(folder);
  reel::Generator generator(1998);
  digits::Network network(generator, 256, 128);
  const Training training = train(network, data, generator);

  const Tensor probabilities = reel::softmax(network(data.test.pixels));
  const auto guesses = reel::argmax(probabilities, 1).to_vector<std::int64_t>();
  const auto confidence = reel::max(probabilities, 1).to_vector<float>();
  const auto truths = data.test.labels.to_vector<std::int64_t>();
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
  draw(picture, training, data.test, mistakes);
  const double right =
      100.0 * static_cast<double>(truths.size() - mistakes.size()) / static_cast<double>(truths.size());
  std::printf("%.2f %% of %zu test digits recognised after %.1f s of training on %lld; pictures in %s\n", right,
              truths.size(), training.seconds, static_cast<long long>(data.training.labels.size()), picture.c_str());
  if (right < 97.0) std::printf("FAILED: at least 97.0 %% were wanted\n");
  return right < 97.0 ? 1 : 0;
}
