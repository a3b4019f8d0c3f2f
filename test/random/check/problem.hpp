// A program, and what its derivatives are compared with: directions, cotangents, and the interpreter's results. By
// definition, a derivative is the coefficient of e1 e2 ... of the program at x + e1 d1 + e2 d2 + ...
#pragma once
#include <complex>

#include "modes.hpp"

namespace random_programs {

using Complex = std::complex<double>;
using Tensors = std::vector<reel::Tensor>;
using Direction = std::vector<std::vector<Complex>>;  // of each source

inline Statement statement_of(DType dtype, const Extents& shape, const std::vector<Complex>& data) {
  Statement s;
  s.dtype = dtype;
  s.shape = shape;
  for (const Complex& c : data) s.data.push_back(c.real()), s.imaginary.push_back(c.imag());
  return s;
}

/// A program with everything that its checks need.
class Problem {
 public:
  Problem(const Program& p, const Plan& plan) : p_(p), plan_(plan), random_(plan.seed) {
    Jet::count = 1;
    sources_ = p.inputs(Role::source);
    for (const Statement* s : sources_) x_.push_back(array_of(*s));
    wild_in_bodies = false;
    interpret(p, x_, values_);
    bodies_are_tame_ = !wild_in_bodies;
    for (const int o : p.outputs) y_.push_back(values_[static_cast<std::size_t>(o)]);
    for (const Array& y : y_) cotangents_.push_back(draw(y));
    for (int k = 0; k < 3; ++k) {
      directions_.emplace_back();
      for (const Array& x : x_) directions_.back().push_back(draw(x));
    }
  }

  const std::vector<Array>& x() const { return x_; }
  const std::vector<Array>& y() const { return y_; }
  const std::vector<Array>& values() const { return values_; }
  /// Whether all values in bodies are within the library's range, including those that nothing reads.
  bool bodies_are_tame() const { return bodies_are_tame_; }
  const Direction& cotangents() const { return cotangents_; }
  const Direction& direction(int k) const { return directions_[static_cast<std::size_t>(k)]; }

  Tensors source_tensors() const {
    Tensors list;
    for (const Statement* s : sources_) list.push_back(tensor_of(*s));
    return list;
  }
  Tensors tensors(const std::vector<Array>& like, const Direction& d) const {
    Tensors list;
    for (std::size_t i = 0; i < like.size(); ++i)
      list.push_back(tensor_of(statement_of(like[i].dtype, like[i].shape, d[i])));
    return list;
  }

  /// The outputs at x + sum e_k d_k, where d_k is a direction of the sources, or of the tapped value if tap[k].
  std::vector<Array> outputs(const std::vector<Direction>& d, int tapped = -1,
                             const std::vector<Complex>& tap = {}) const {
    Jet::count = 1 << (d.size() + (tap.empty() ? 0 : 1));
    std::vector<Array> x;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x.push_back(Array(x_[i].dtype, x_[i].shape));
      for (std::size_t j = 0; j < x.back().data.size(); ++j) {
        Num& n = x.back().data[j];
        n = Num(Jet(x_[i].data[j].re.v[0]), Jet(complex_numbers ? x_[i].data[j].im.v[0] : 0));
        for (std::size_t k = 0; k < d.size(); ++k)
          n.re.v[1 << k] = d[k][i][j].real(), n.im.v[1 << k] = d[k][i][j].imag();
      }
    }
    Arrays values;
    std::size_t next = 0;
    for (const Statement& s : p_.statements) {
      if (s.role == Role::source)
        values.push_back(x[next++]);
      else
        evaluate(s, values);
      if (plan_.cut >= 0 && plan_.cut + 1 == static_cast<int>(values.size()))
        for (Num& n : values.back().data) n = Num(n.re.value(), n.im.value());
      if (tapped >= 0 && tapped + 1 == static_cast<int>(values.size()))
        for (std::size_t j = 0; j < tap.size(); ++j)
          values.back().data[j].re.v[Jet::count / 2] += tap[j].real(),
              values.back().data[j].im.v[Jet::count / 2] += tap[j].imag();
    }
    std::vector<Array> y;
    for (const int o : p_.outputs) y.push_back(values[static_cast<std::size_t>(o)]);
    return y;
  }
  /// The highest coefficient as a number.
  static Num highest(const Num& n) {
    const int m = Jet::count - 1;
    const auto top = [m](const Jet& j) {
      Jet r;
      r.v[0] = j.v[m], r.e[0] = j.e[m];
      return r;
    };
    return {top(n.re), complex_numbers ? top(n.im) : Jet()};
  }
  /// Of the sum of real(conj(w) y).
  Jet weighted(const std::vector<Array>& y) const {
    Jet sum;
    const Exactly guard;
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t j = 0; j < y[i].data.size(); ++j) {
        const Num n = highest(y[i].data[j]);
        const Complex w = cotangents_[i][j];
        const int count = std::exchange(Jet::count, 1);
        sum += n.re * Jet(w.real());
        if (complex_numbers) sum += n.im * Jet(w.imag());
        Jet::count = count;
      }
    return sum;
  }
  /// D_d1 D_d2 ... of the outputs.
  std::vector<Array> tangents(const std::vector<Direction>& d) const {
    std::vector<Array> y = outputs(d);
    for (Array& a : y)
      for (Num& n : a.data) n = highest(n);
    return y;
  }
  /// The gradient of D_d1 D_d2 ... of the weighted sum, by each source; `part`: of one output alone, by its element.
  std::vector<Array> gradients(std::vector<Direction> d) const {
    std::vector<Array> g;
    d.emplace_back();
    for (const Array& x : x_) d.back().emplace_back(x.data.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      Jet::count = 1;
      g.push_back(Array(x_[i].dtype, x_[i].shape));
      for (std::size_t j = 0; j < g[i].data.size(); ++j) {
        Jet parts[2];
        for (int c = 0; c < (reel::is_complex(x_[i].dtype) ? 2 : 1); ++c) {
          d.back()[i][j] = c ? Complex(0, 1) : Complex(1);
          parts[c] = weighted(outputs(d));
        }
        d.back()[i][j] = 0;
        Jet::count = 1;
        g[i].data[j] = {parts[0], parts[1]};
      }
    }
    return g;
  }
  Array tap_gradient(int tapped) const {
    const Array& at = values_[static_cast<std::size_t>(tapped)];
    Jet::count = 1;
    Array g(at.dtype, at.shape);
    std::vector<Complex> d(at.data.size());
    for (std::size_t j = 0; j < d.size(); ++j) {
      Jet parts[2];
      for (int c = 0; c < (reel::is_complex(at.dtype) ? 2 : 1); ++c) {
        d[j] = c ? Complex(0, 1) : Complex(1);
        parts[c] = weighted(outputs({}, tapped, d));
      }
      d[j] = 0;
      Jet::count = 1;
      g.data[j] = {parts[0], parts[1]};
    }
    return g;
  }
  /// The columns of the Jacobian (of outputs) or Hessian (of the weighted sum), [output or source][source].
  std::vector<std::vector<Array>> matrix(bool second) const {
    const std::vector<Array>& rows = second ? x_ : y_;
    std::vector<std::vector<Array>> m(rows.size());
    Jet::count = 1;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (const Array& x : x_) {
        Extents shape = rows[r].shape;
        shape.insert(shape.end(), x.shape.begin(), x.shape.end());
        m[r].push_back(Array(x.dtype, shape));
      }
    Direction unit;
    for (const Array& x : x_) unit.emplace_back(x.data.size());
    for (std::size_t i = 0; i < x_.size(); ++i)
      for (std::size_t j = 0; j < x_[i].data.size(); ++j) {
        unit[i][j] = 1;
        const std::vector<Array> column = second ? gradients({unit}) : tangents({unit});
        unit[i][j] = 0;
        Jet::count = 1;
        for (std::size_t r = 0; r < rows.size(); ++r)
          for (std::size_t k = 0; k < column[r].data.size(); ++k)
            m[r][i].data[k * x_[i].data.size() + j] = column[r].data[k];
      }
    return m;
  }

 private:
  std::vector<Complex> draw(const Array& like) {
    std::vector<Complex> d;
    const auto number = [&] { return 0.25 * static_cast<double>(static_cast<int>(random_() % 13) - 6); };
    for (std::size_t i = 0; i < like.data.size(); ++i) {
      const double re = number();
      d.emplace_back(re, reel::is_complex(like.dtype) ? number() : 0);
    }
    return d;
  }

  const Program& p_;
  const Plan& plan_;
  Random random_;
  std::vector<const Statement*> sources_;
  std::vector<Array> x_, y_;
  Arrays values_;
  bool bodies_are_tame_ = true;
  Direction cotangents_;
  std::vector<Direction> directions_;
};

}  // namespace random_programs
