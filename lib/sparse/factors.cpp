#include "sparse/factors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/product/tiled_product.hpp"

namespace reel::optim {

namespace {

constexpr double pivot_threshold = 0.1;         // of the largest element of the column
constexpr std::int64_t panel_width = 32;        // columns that are eliminated before the rest of a front is updated
constexpr std::int64_t column_block = 64;       // columns of a lower triangle that one product updates
constexpr std::int64_t tiled_products = 20000;  // multiplications from which packing into tiles pays

double conjugate(double x) { return x; }
std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }
double magnitude(double x) { return std::abs(x); }
double magnitude(std::complex<double> x) { return std::max(std::abs(x.real()), std::abs(x.imag())); }
template <class T>
void conjugate_all(std::vector<T>& x) {
  if constexpr (!std::is_floating_point_v<T>)
    for (T& v : x) v = std::conj(v);
}

template <class T>
constexpr DType dtype = std::is_floating_point_v<T> ? DType::float64 : DType::complex128;

// Element (i, j) is data[i * row + j * column].
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row, column;
};

// c [rows, columns] -= a b, with k terms; rows of c are `width` apart, those of b contiguous.
template <class T>
void subtract_product(std::int64_t rows, std::int64_t columns, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b,
                      T* c, std::int64_t width, std::vector<std::byte>& memory) {
  if (rows * columns * k < tiled_products || columns < 4) {
    const auto term = [&](std::int64_t i, std::int64_t t) {
      const T factor = a.data[i * a.row + t * a.column];
      for (std::int64_t j = 0; j < columns; ++j) c[i * width + j] -= factor * b.data[t * b.row + j];
    };
    if (a.row < a.column)
      for (std::int64_t t = 0; t < k; ++t)
        for (std::int64_t i = 0; i < rows; ++i) term(i, t);
    else
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t t = 0; t < k; ++t) term(i, t);
    return;
  }
  const auto* from_a = reinterpret_cast<const std::byte*>(a.data);
  const auto* from_b = reinterpret_cast<const std::byte*>(b.data);
  const loops::TiledProduct product(dtype<T>, {from_a, rows, k, a.row, a.column, {}},
                                    {from_b, k, columns, b.row, b.column, {}}, width, loops::Into::subtract);
  constexpr std::uintptr_t alignment = 64;
  const std::size_t bytes = at(product.bytes(rows, columns)) + alignment;
  if (memory.size() < bytes) memory.resize(bytes);
  const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
  product(from_a, from_b, reinterpret_cast<std::byte*>(c), rows, columns,
          memory.data() + (misplaced ? alignment - misplaced : 0));
}

// x [k, columns] becomes the solution of l x = x for a lower triangular l [k, k], rows `width` apart; or of l^T x = x.
template <class T>
void solve_lower(std::int64_t k, const T* l, std::int64_t width, bool unit, T* x, std::int64_t columns) {
  for (std::int64_t i = 0; i < k; ++i) {
    T* to = x + i * columns;
    for (std::int64_t t = 0; t < i; ++t)
      for (std::int64_t j = 0; j < columns; ++j) to[j] -= l[i * width + t] * x[t * columns + j];
    if (!unit)
      for (std::int64_t j = 0; j < columns; ++j) to[j] /= l[i * width + i];
  }
}
template <class T>
void solve_lower_transposed(std::int64_t k, const T* l, std::int64_t width, bool unit, T* x, std::int64_t columns) {
  for (std::int64_t i = k; i-- > 0;) {
    const T* from = x + i * columns;
    if (!unit)
      for (std::int64_t j = 0; j < columns; ++j) x[i * columns + j] /= l[i * width + i];
    for (std::int64_t t = 0; t < i; ++t)
      for (std::int64_t j = 0; j < columns; ++j) x[t * columns + j] -= l[i * width + t] * from[j];
  }
}

}  // namespace

// The numeric factorisation: fronts in postorder. What a front adds to those of its ancestors waits on a stack until
// its parent takes it.
template <class T>
class Factors<T>::Elimination {
 public:
  Elimination(Factors& factors, const T* values)
      : f_(factors), a_(*factors.analysis_), values_(values), local_(at(a_.size())), late_(at(a_.front_count())) {}
  bool run();

 private:
  // What a front leaves to its parent, square, at an offset in the stack: its postponed rows and columns, then those of
  // its border.
  struct Update {
    Index front;
    std::size_t offset;
    std::int64_t size;
  };
  struct Postponed {
    Indices rows, columns;
  };
  bool positive_definite() const { return f_.kind_ == Kind::positive_definite; }
  void begin(Index front);
  void add_values(Index front);
  void add_updates(Index front);
  void add_update(const Update& update, const Indices& map);
  bool cholesky();
  bool cholesky_panel(std::int64_t first, std::int64_t end);
  void update_lower(std::int64_t first, std::int64_t end);
  bool lu();
  enum class Pivot : std::uint8_t { taken, postponed, zero };
  Pivot take_pivot(std::int64_t k, std::int64_t end);
  void update_columns(std::int64_t first, std::int64_t end, std::int64_t from);
  void swap_rows(std::int64_t i, std::int64_t j);
  void swap_columns(std::int64_t i, std::int64_t j);
  void finish(Index front);
  Panel add_panel(bool transposed);
  T& element(std::int64_t i, std::int64_t j) { return front_[at(i * size_ + j)]; }

  Factors& f_;
  const Analysis& a_;
  const T* values_;
  Indices local_;  // of a position in the front: its row and column there
  std::vector<Postponed> late_;
  std::vector<Update> updates_;
  std::vector<T> stack_, front_, scratch_;
  std::vector<std::byte> memory_;
  Indices rows_, columns_;                                 // the positions of the front's
  std::int64_t size_ = 0, complete_ = 0, eliminated_ = 0;  // rows; those without further contributions; pivots taken
};

template <class T>
bool Factors<T>::Elimination::run() {
  f_.fronts_.clear();
  f_.panels_.clear();
  f_.indices_.clear();
  f_.panels_.reserve(at(a_.panel_size()) * (positive_definite() ? 1 : 2));
  for (Index front = 0; front < a_.front_count(); ++front) {
    begin(front);
    add_values(front);
    add_updates(front);
    if (!(positive_definite() ? cholesky() : lu())) return false;
    finish(front);
  }
  return true;
}

// Rows and columns: pivots, what children postponed, the border.
template <class T>
void Factors<T>::Elimination::begin(Index front) {
  const Index first = a_.first(front), end = a_.first(front + 1);
  rows_.resize(at(end - first));
  for (Index p = first; p < end; ++p) local_[at(p)] = p - first, rows_[at(p - first)] = p;
  columns_ = rows_;
  for (std::size_t u = updates_.size() - at(a_.child_count(front)); u < updates_.size(); ++u) {
    const Postponed& late = late_[at(updates_[u].front)];
    rows_.insert(rows_.end(), late.rows.begin(), late.rows.end());
    columns_.insert(columns_.end(), late.columns.begin(), late.columns.end());
  }
  complete_ = static_cast<std::int64_t>(rows_.size());
  for (const Index p : a_.border(front)) {
    local_[at(p)] = static_cast<Index>(rows_.size());
    rows_.push_back(p);
    columns_.push_back(p);
  }
  size_ = static_cast<std::int64_t>(rows_.size());
  front_.assign(at(size_ * size_), T{0});
}

template <class T>
void Factors<T>::Elimination::add_values(Index front) {
  for (Index p = a_.first(front); p < a_.first(front + 1); ++p) {
    const Index i = a_.order()[at(p)];
    const std::int64_t k = local_[at(p)];
    a_.for_each(i, true, [&](Index q, std::int64_t value) {
      if (q >= p) element(local_[at(q)], k) = values_[value];
    });
    if (positive_definite()) continue;
    a_.for_each(i, false, [&](Index q, std::int64_t value) {
      if (q > p) element(k, local_[at(q)]) = values_[value];
    });
  }
}

template <class T>
void Factors<T>::Elimination::add_updates(Index front) {
  const std::size_t first = updates_.size() - at(a_.child_count(front));
  Indices map;
  Index next = a_.first(front + 1) - a_.first(front);  // the row of what is postponed
  for (std::size_t u = first; u < updates_.size(); ++u) {
    map.clear();
    Postponed& late = late_[at(updates_[u].front)];
    for (std::size_t k = 0; k < late.rows.size(); ++k) map.push_back(next++);
    for (const Index q : a_.border(updates_[u].front)) map.push_back(local_[at(q)]);
    add_update(updates_[u], map);
    late = {};
  }
  if (first < updates_.size()) stack_.resize(updates_[first].offset);
  updates_.resize(first);
}
template <class T>
void Factors<T>::Elimination::add_update(const Update& update, const Indices& map) {
  const T* from = stack_.data() + update.offset;
  for (std::int64_t i = 0; i < update.size; ++i, from += update.size) {
    T* to = &element(map[at(i)], 0);
    const std::int64_t end = positive_definite() ? i + 1 : update.size;
    for (std::int64_t j = 0; j < end; ++j) to[map[at(j)]] += from[j];
  }
}

template <class T>
bool Factors<T>::Elimination::cholesky() {
  for (std::int64_t first = 0; first < complete_; first += panel_width) {
    const std::int64_t end = std::min(first + panel_width, complete_);
    if (!cholesky_panel(first, end)) return false;
    update_lower(first, end);
  }
  eliminated_ = complete_;
  return true;
}
// Columns [first, end) of the factor.
template <class T>
bool Factors<T>::Elimination::cholesky_panel(std::int64_t first, std::int64_t end) {
  T row[panel_width];
  for (std::int64_t j = first; j < end; ++j) {
    const double pivot = std::real(element(j, j));
    if (!(pivot > 0)) return false;
    const double root = std::sqrt(pivot);
    element(j, j) = root;
    for (std::int64_t i = j + 1; i < size_; ++i) {
      T* to = &element(i, first);
      const T factor = to[j - first] /= root;
      if (i < end) row[i - first] = conjugate(factor);
      const std::int64_t last = std::min(i + 1, end) - first;
      for (std::int64_t c = j + 1 - first; c < last; ++c) to[c] -= factor * row[c];
    }
  }
  return true;
}
// Subtracts the product of columns [first, end) and their adjoint from the lower triangle behind them.
template <class T>
void Factors<T>::Elimination::update_lower(std::int64_t first, std::int64_t end) {
  const std::int64_t k = end - first, rest = size_ - end;
  if (rest == 0) return;
  scratch_.resize(at(k * rest));
  for (std::int64_t j = 0; j < rest; ++j)
    for (std::int64_t t = 0; t < k; ++t) scratch_[at(t * rest + j)] = conjugate(element(end + j, first + t));
  if (rest * rest * k < 2 * tiled_products) {
    for (std::int64_t i = 0; i < rest; ++i)
      for (std::int64_t t = 0; t < k; ++t) {
        const T factor = element(end + i, first + t);
        T* to = &element(end + i, end);
        for (std::int64_t j = 0; j <= i; ++j) to[j] -= factor * scratch_[at(t * rest + j)];
      }
    return;
  }
  for (std::int64_t j = 0; j < rest; j += column_block)
    subtract_product<T>(rest - j, std::min(column_block, rest - j), k, {&element(end + j, first), size_, 1},
                        {scratch_.data() + j, rest, 1}, &element(end + j, end + j), size_, memory_);
}

template <class T>
bool Factors<T>::Elimination::lu() {
  std::int64_t k = 0, last = complete_;  // columns behind `last` are postponed
  while (k < last) {
    const std::int64_t first = k;
    std::int64_t end = std::min(first + panel_width, last);
    bool postponed = false;
    while (k < end && !postponed) {
      const Pivot pivot = take_pivot(k, end);
      if (pivot == Pivot::zero) return false;
      if (pivot == Pivot::taken)
        ++k;
      else
        postponed = true;
    }
    update_columns(first, k, end);
    if (!postponed) continue;
    --last;
    swap_rows(k, last);
    swap_columns(k, last);
  }
  eliminated_ = k;
  return true;
}
// Makes column k one of L, and updates the columns behind it up to `end`.
template <class T>
auto Factors<T>::Elimination::take_pivot(std::int64_t k, std::int64_t end) -> Pivot {
  double largest = 0, best = 0;
  std::int64_t row = k;
  for (std::int64_t i = k; i < size_; ++i) {
    const double m = magnitude(element(i, k));
    if (m > best && i < complete_) best = m, row = i;
    if (!(m <= largest)) largest = m;
    if (std::isnan(m)) break;
  }
  if (largest == 0) return Pivot::zero;
  if (magnitude(element(k, k)) >= pivot_threshold * largest) row = k;
  if (magnitude(element(row, k)) < pivot_threshold * largest) return Pivot::postponed;
  swap_rows(k, row);
  const T pivot = element(k, k);
  const T* from = &element(k, 0);
  for (std::int64_t i = k + 1; i < size_; ++i) {
    T* to = &element(i, 0);
    const T factor = to[k] /= pivot;
    for (std::int64_t c = k + 1; c < end; ++c) to[c] -= factor * from[c];
  }
  return Pivot::taken;
}
// Applies pivots [first, end) to the columns behind `from`.
template <class T>
void Factors<T>::Elimination::update_columns(std::int64_t first, std::int64_t end, std::int64_t from) {
  const std::int64_t columns = size_ - from;
  if (columns == 0 || first == end) return;
  for (std::int64_t i = first + 1; i < end; ++i)
    for (std::int64_t t = first; t < i; ++t) {
      const T factor = element(i, t);
      for (std::int64_t j = from; j < size_; ++j) element(i, j) -= factor * element(t, j);
    }
  if (end < size_)
    subtract_product<T>(size_ - end, columns, end - first, {&element(end, first), size_, 1},
                        {&element(first, from), size_, 1}, &element(end, from), size_, memory_);
}
template <class T>
void Factors<T>::Elimination::swap_rows(std::int64_t i, std::int64_t j) {
  if (i == j) return;
  std::swap_ranges(&element(i, 0), &element(i, 0) + size_, &element(j, 0));
  std::swap(rows_[at(i)], rows_[at(j)]);
}
template <class T>
void Factors<T>::Elimination::swap_columns(std::int64_t i, std::int64_t j) {
  if (i == j) return;
  for (std::int64_t r = 0; r < size_; ++r) std::swap(element(r, i), element(r, j));
  std::swap(columns_[at(i)], columns_[at(j)]);
}

template <class T>
auto Factors<T>::Elimination::add_panel(bool transposed) -> Panel {
  const Panel panel{f_.panels_.size(), static_cast<Index>(eliminated_), static_cast<Index>(size_)};
  f_.panels_.resize(panel.offset + at(size_ * eliminated_));
  T* to = f_.panels_.data() + panel.offset;
  for (std::int64_t i = 0; i < size_; ++i)
    for (std::int64_t t = 0; t < eliminated_; ++t) *to++ = transposed ? element(t, i) : element(i, t);
  return panel;
}
template <class T>
void Factors<T>::Elimination::finish(Index front) {
  Front made;
  made.rows = made.columns = f_.indices_.size();
  f_.indices_.insert(f_.indices_.end(), rows_.begin(), rows_.end());
  made.l = made.u = add_panel(false);
  if (!positive_definite()) {
    made.columns = f_.indices_.size();
    f_.indices_.insert(f_.indices_.end(), columns_.begin(), columns_.end());
    made.u = add_panel(true);
  }
  f_.fronts_.push_back(made);
  if (a_.parent(front) < 0) return;
  Postponed& late = late_[at(front)];
  late.rows.assign(rows_.begin() + eliminated_, rows_.begin() + complete_);
  late.columns.assign(columns_.begin() + eliminated_, columns_.begin() + complete_);
  const std::int64_t rest = size_ - eliminated_;
  updates_.push_back({front, stack_.size(), rest});
  for (std::int64_t i = eliminated_; i < size_; ++i) {
    const T* row = &element(i, 0);
    stack_.insert(stack_.end(), row + eliminated_, row + size_);
  }
}

template <class T>
bool Factors<T>::is_hermitian(const T* values) const {
  if (!analysis_->is_symmetric()) return false;
  for (std::int64_t p = 0; p < analysis_->value_count(); ++p)
    if (values[p] != conjugate(values[analysis_->mirror(p)])) return false;
  return true;
}

template <class T>
bool Factors<T>::factorise(const T* values, Kind kind) {
  kind_ = kind;
  finite_ =
      std::all_of(values, values + analysis_->value_count(), [](const T& v) { return std::isfinite(magnitude(v)); });
  return finite_ ? Elimination(*this, values).run() : kind == Kind::general;
}

template <class T>
std::int64_t Factors<T>::bytes() const noexcept {
  return static_cast<std::int64_t>(panels_.capacity() * sizeof(T) + indices_.capacity() * sizeof(Index) +
                                   fronts_.capacity() * sizeof(Front));
}

// The rows of `pivots` become those of the solution with the panel's triangle; its other rows are subtracted from x.
template <class T>
void Factors<T>::forward(const Panel& panel, const Index* indices, bool unit, T* x, T* pivots, std::int64_t columns,
                         WorkSpace& work) const {
  const std::int64_t k = panel.pivots, rest = panel.rows - k;
  const T* l = panels_.data() + panel.offset;
  for (std::int64_t t = 0; t < k; ++t) std::copy_n(x + indices[t] * columns, columns, pivots + t * columns);
  solve_lower(k, l, k, unit, pivots, columns);
  l += k * k;
  work.rows.resize(at(rest * columns));
  T* rows = work.rows.data();
  for (std::int64_t i = 0; i < rest; ++i) std::copy_n(x + indices[k + i] * columns, columns, rows + i * columns);
  subtract_product<T>(rest, columns, k, {l, k, 1}, {pivots, columns, 1}, rows, columns, work.memory);
  for (std::int64_t i = 0; i < rest; ++i) std::copy_n(rows + i * columns, columns, x + indices[k + i] * columns);
}
// The transpose: the panel's other rows of x are subtracted from `pivots`, whose solution is stored in x.
template <class T>
void Factors<T>::backward(const Panel& panel, const Index* indices, bool unit, T* x, T* pivots, std::int64_t columns,
                          WorkSpace& work) const {
  const std::int64_t k = panel.pivots, rest = panel.rows - k;
  const T* l = panels_.data() + panel.offset;
  work.rows.resize(at(rest * columns));
  T* rows = work.rows.data();
  for (std::int64_t i = 0; i < rest; ++i) std::copy_n(x + indices[k + i] * columns, columns, rows + i * columns);
  subtract_product<T>(k, columns, rest, {l + k * k, 1, k}, {rows, columns, 1}, pivots, columns, work.memory);
  solve_lower_transposed(k, l, k, unit, pivots, columns);
  for (std::int64_t t = 0; t < k; ++t) std::copy_n(pivots + t * columns, columns, x + indices[t] * columns);
}

// With the transpose, L and U, and rows and columns, change places. That of a Hermitian matrix is its conjugate.
template <class T>
void Factors<T>::solve(T* x, std::int64_t columns, bool transposed) const {
  const std::int64_t n = analysis_->size();
  if (!finite_) {
    std::fill_n(x, n * columns, T(std::numeric_limits<double>::quiet_NaN()));
    return;
  }
  const bool hermitian = kind_ == Kind::positive_definite, conjugated = hermitian && transposed;
  std::vector<T> y(at(n * columns)), pivots(y.size());
  WorkSpace work;
  for (std::int64_t p = 0; p < n; ++p)
    std::copy_n(x + analysis_->order()[at(p)] * columns, columns, y.data() + p * columns);
  if (conjugated) conjugate_all(y);
  T* next = pivots.data();
  for (const Front& f : fronts_) {
    const bool flip = transposed && !hermitian;
    forward(flip ? f.u : f.l, indices_.data() + (flip ? f.columns : f.rows), !flip && !hermitian, y.data(), next,
            columns, work);
    next += f.l.pivots * columns;
  }
  if (hermitian) conjugate_all(pivots);
  for (auto f = fronts_.rbegin(); f != fronts_.rend(); ++f) {
    const bool flip = transposed && !hermitian;
    next -= f->l.pivots * columns;
    backward(flip ? f->l : f->u, indices_.data() + (flip ? f->rows : f->columns), flip, y.data(), next, columns, work);
  }
  if (hermitian != conjugated) conjugate_all(y);
  for (std::int64_t p = 0; p < n; ++p)
    std::copy_n(y.data() + p * columns, columns, x + analysis_->order()[at(p)] * columns);
}

template class Factors<double>;
template class Factors<std::complex<double>>;

}  // namespace reel::optim
