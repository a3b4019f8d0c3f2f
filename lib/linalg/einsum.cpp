// Einstein summation, decomposed into diagonals, sums, products and matrix products, whose rules give gradients of
// every order. More than two operands are contracted pair by pair, the pair with the smallest result first.
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>
#include <string>

#include "linalg/matrices.hpp"

namespace reel {
namespace ops {
namespace {

constexpr const char* this_op = "einsum";

// A label of an axis: a letter's code, or minus the distance from the end (from 1) for axes that "..." stands for.
using Label = int;
using Labels = detail::List<Label>;

bool has(const Labels& labels, Label l) {
  for (Label other : labels)
    if (other == l) return true;
  return false;
}

std::int64_t position(const Labels& labels, Label l) {
  std::int64_t i = 0;
  while (labels[static_cast<std::size_t>(i)] != l) ++i;
  return i;
}

std::string spell(Label l) { return l > 0 ? std::string(1, static_cast<char>(l)) : "..."; }

// The labels of one operand, and where "..." stands among them (-1: nowhere).
struct Term {
  Labels letters;
  int ellipsis = -1;
};

Term parse_term(std::string_view subscripts, std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (term.ellipsis >= 0) fail<ValueError>(this_op, "\"{}\" has two ellipses in one term", subscripts);
      term.ellipsis = static_cast<int>(term.letters.size());
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term.letters.push_back(c);
    } else {
      fail<ValueError>(this_op, "\"{}\" has '{}' at position {}: subscripts are letters, \",\", \"->\" and \"...\"",
                       subscripts, c, text.data() + i - subscripts.data());
    }
  }
  return term;
}

struct Equation {
  detail::List<Term> inputs;
  Term output;
};

Equation parse(std::string_view subscripts) {
  Equation equation;
  const std::size_t arrow = subscripts.find("->");
  std::string_view left = subscripts.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    equation.inputs.push_back(parse_term(subscripts, left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow != std::string_view::npos) {
    equation.output = parse_term(subscripts, subscripts.substr(arrow + 2));
    for (std::size_t i = 0; i < equation.output.letters.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (equation.output.letters[i] == equation.output.letters[j])
          fail<ValueError>(this_op, "\"{}\" has '{}' twice in the result", subscripts,
                           spell(equation.output.letters[i]));
    return equation;
  }
  // Implicit output: the batch axes, then the letters that occur once, ascending by code.
  int count[128] = {};
  for (const Term& term : equation.inputs) {
    for (Label l : term.letters) ++count[l];
    if (term.ellipsis >= 0) equation.output.ellipsis = 0;
  }
  for (Label l = 'A'; l <= 'z'; ++l)
    if (count[l] == 1) equation.output.letters.push_back(l);
  return equation;
}

// The labels of an operand whose "..." stands for `batch` axes.
Labels expand_labels(const Term& term, int batch) {
  Labels labels;
  for (std::size_t i = 0; i <= term.letters.size(); ++i) {
    if (static_cast<int>(i) == term.ellipsis)
      for (int d = batch; d > 0; --d) labels.push_back(-d);
    if (i < term.letters.size()) labels.push_back(term.letters[i]);
  }
  return labels;
}

struct Value {
  Tensor x;
  Labels labels;
};

Tensor reorder_axes(const Tensor& x, const Labels& from, const Labels& to) {
  Shape order;
  bool moved = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    order.push_back(position(from, to[i]));
    moved |= order.back() != static_cast<std::int64_t>(i);
  }
  return moved ? transpose(x, order) : x;
}

Tensor in_shape(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : reshape(x, shape); }

// Takes the diagonal of axes with the same label; it becomes the last axis.
void take_diagonals(Value& v) {
  for (std::size_t j = 1; j < v.labels.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (v.labels[i] != v.labels[j]) continue;
      const Label l = v.labels[j];
      const auto last = static_cast<std::int64_t>(v.labels.size()) - 1;
      Tensor x = static_cast<std::int64_t>(j) == last ? v.x : moveaxis(v.x, static_cast<std::int64_t>(j), -1);
      if (static_cast<std::int64_t>(i) != last - 1) x = moveaxis(x, static_cast<std::int64_t>(i), -2);
      v.x = diagonal(x);
      v.labels.erase(v.labels.begin() + static_cast<std::ptrdiff_t>(j));
      v.labels.erase(v.labels.begin() + static_cast<std::ptrdiff_t>(i));
      v.labels.push_back(l);
      return take_diagonals(v);
    }
  }
}

// Sums over the labels for which `kept` is false. Integers keep their dtype.
template <class Kept>
void sum_out(Value& v, const Kept& kept) {
  Shape axes;
  Labels rest;
  for (std::size_t i = 0; i < v.labels.size(); ++i) {
    if (kept(v.labels[i]))
      rest.push_back(v.labels[i]);
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.empty()) return;
  v.x = cast_to(sum(v.x, axes), v.x.dtype());
  v.labels = rest;
}

// The labels of two operands, classified by what happens to them.
struct Sorted {
  Labels batch, contracted, free_x, free_y;
  Labels result;
};

template <class Kept>
Sorted sort_labels(const Labels& x, const Labels& y, const Kept& kept) {
  Sorted s;
  for (Label l : x) (!has(y, l) ? s.free_x : kept(l) ? s.batch : s.contracted).push_back(l);
  for (Label l : y)
    if (!has(x, l)) s.free_y.push_back(l);
  s.result = s.batch;
  s.result.insert(s.result.end(), s.free_x.begin(), s.free_x.end());
  s.result.insert(s.result.end(), s.free_y.begin(), s.free_y.end());
  return s;
}

struct Extents {
  detail::List<std::int64_t> of_letter = detail::List<std::int64_t>(128, 1), of_batch;
  std::int64_t& operator[](Label l) {
    if (l > 0) return of_letter[static_cast<std::size_t>(l)];
    if (of_batch.size() < static_cast<std::size_t>(-l)) of_batch.resize(static_cast<std::size_t>(-l), 1);
    return of_batch[static_cast<std::size_t>(-l - 1)];
  }
  std::int64_t product(const Labels& labels) {
    std::int64_t n = 1;
    for (Label l : labels) n *= (*this)[l];
    return n;
  }
  void append(Shape& shape, const Labels& labels) {
    for (Label l : labels) shape.push_back((*this)[l]);
  }
};

Labels join_labels(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* p : parts) all.insert(all.end(), p->begin(), p->end());
  return all;
}

// Contracts x and y: sums over labels that both have and nobody else needs.
template <class Kept>
Value contract(Value x, Value y, Extents& extents, const Labels& output, const Kept& kept) {
  sum_out(x, [&](Label l) { return kept(l) || has(y.labels, l); });
  sum_out(y, [&](Label l) { return kept(l) || has(x.labels, l); });
  Sorted s = sort_labels(x.labels, y.labels, kept);
  for (Label l : output) {  // the factor with the first axis of the result comes first
    if (has(s.free_x, l)) break;
    if (!has(s.free_y, l)) continue;
    std::swap(x, y);
    s = sort_labels(x.labels, y.labels, kept);
    break;
  }
  if (s.contracted.empty()) {  // pointwise: each gets axes of extent 1 for labels that only the other has
    Shape shape_x, shape_y;
    extents.append(shape_x, join_labels({&s.batch, &s.free_x}));
    for (std::size_t i = 0; i < s.free_y.size(); ++i) shape_x.push_back(1);
    extents.append(shape_y, s.batch);
    for (std::size_t i = 0; i < s.free_x.size(); ++i) shape_y.push_back(1);
    extents.append(shape_y, s.free_y);
    return {multiply(in_shape(reorder_axes(x.x, x.labels, join_labels({&s.batch, &s.free_x})), shape_x),
                     in_shape(reorder_axes(y.x, y.labels, join_labels({&s.batch, &s.free_y})), shape_y)),
            s.result};
  }
  const std::int64_t inner = extents.product(s.contracted);
  Shape shape_x, shape_y, shape;
  extents.append(shape, s.result);
  if (!s.batch.empty()) {
    shape_x.push_back(extents.product(s.batch));
    shape_y = shape_x;
  }
  if (!s.free_x.empty() || !s.batch.empty()) shape_x.push_back(extents.product(s.free_x));
  shape_x.push_back(inner);
  shape_y.push_back(inner);
  if (!s.free_y.empty() || !s.batch.empty()) shape_y.push_back(extents.product(s.free_y));
  const Tensor rows = in_shape(reorder_axes(x.x, x.labels, join_labels({&s.batch, &s.free_x, &s.contracted})), shape_x);
  const Tensor columns =
      in_shape(reorder_axes(y.x, y.labels, join_labels({&s.batch, &s.contracted, &s.free_y})), shape_y);
  return {in_shape(product(this_op, rows, columns), shape), s.result};
}

// The operands, the labels of their axes, the labels of the result, and the extent of each label.
struct LabeledOperands {
  detail::List<Value> values;
  Labels output;
  Extents extents;
};

// Labels the operands' axes and checks the extents; an extent of 1 broadcasts.
LabeledOperands label_operands(std::string_view subscripts, std::span<const Tensor> operands) {
  const Equation equation = parse(subscripts);
  if (equation.inputs.size() != operands.size())
    fail<ValueError>(this_op, "\"{}\" is for {} operands, there are {}", subscripts, equation.inputs.size(),
                     operands.size());
  for (const Tensor& x : operands) require_defined(this_op, x, "an operand");
  DType dtype = operands[0].dtype();
  for (const Tensor& x : operands) dtype = promote(dtype, x.dtype());

  LabeledOperands p;
  int most_batch = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Term& term = equation.inputs[k];
    const Shape shape = operands[k].shape();
    const int batch = shape.rank() - static_cast<int>(term.letters.size());
    if (batch < 0 || (batch > 0 && term.ellipsis < 0))
      fail<ValueError>(this_op, "term {} of \"{}\" names {} axes, its operand is {}", k, subscripts,
                       term.letters.size(), shape);
    if (term.ellipsis >= 0) most_batch = std::max(most_batch, batch);
    p.values.push_back({cast_to(operands[k], dtype), expand_labels(term, batch)});
    const std::int64_t* own = shape.begin();
    for (Label l : p.values.back().labels) {
      std::int64_t& extent = p.extents[l];
      if (*own != extent && *own != 1 && extent != 1)
        fail<ShapeError>(this_op, "'{}' of \"{}\" is {} in operand {}, which is {}, and {} before", spell(l),
                         subscripts, *own, k, shape, extent);
      if (*own != 1) extent = *own;
      ++own;
    }
  }
  if (most_batch > 0 && equation.output.ellipsis < 0)
    fail<ValueError>(this_op, "\"{}\" has axes under \"...\" that the result does not name; write \"->...\"",
                     subscripts);
  for (Label l : equation.output.letters) {
    bool known = false;
    for (const Value& v : p.values) known |= has(v.labels, l);
    if (!known) fail<ValueError>(this_op, "'{}' of the result of \"{}\" is in no operand", spell(l), subscripts);
  }
  p.output = expand_labels(equation.output, most_batch);
  return p;
}

// Drops the axes that only broadcast.
void squeeze_ones(Value& v, Extents& extents) {
  Shape ones;
  Labels rest;
  const Shape shape = v.x.shape();
  for (std::size_t i = 0; i < v.labels.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    if (shape[axis] == 1 && extents[v.labels[i]] != 1)
      ones.push_back(axis);
    else
      rest.push_back(v.labels[i]);
  }
  if (!ones.empty()) v = {squeeze(v.x, ones), rest};
}

// Contracts the pair with the smallest result; the first pair if several are equal.
void contract_pair(LabeledOperands& p) {
  std::size_t first = 0, second = 1;
  double smallest = -1;
  const auto needed_by_others = [&](std::size_t i, std::size_t j, Label l) {
    if (has(p.output, l)) return true;
    for (std::size_t k = 0; k < p.values.size(); ++k)
      if (k != i && k != j && has(p.values[k].labels, l)) return true;
    return false;
  };
  for (std::size_t i = 0; p.values.size() > 2 && i + 1 < p.values.size(); ++i) {
    for (std::size_t j = i + 1; j < p.values.size(); ++j) {
      double size = 1;
      for (Label l : p.values[i].labels)
        if (needed_by_others(i, j, l)) size *= static_cast<double>(p.extents[l]);
      for (Label l : p.values[j].labels)
        if (!has(p.values[i].labels, l) && needed_by_others(i, j, l)) size *= static_cast<double>(p.extents[l]);
      if (smallest >= 0 && size >= smallest) continue;
      smallest = size;
      first = i;
      second = j;
    }
  }
  Value result = contract(p.values[first], p.values[second], p.extents, p.output,
                          [&](Label l) { return needed_by_others(first, second, l); });
  p.values.erase(p.values.begin() + static_cast<std::ptrdiff_t>(second));
  p.values[first] = std::move(result);
}

// Whether there are results before the last one: of further pairs, or sums of one operand.
bool has_steps(const LabeledOperands& p) {
  if (p.values.size() != 2) return p.values.size() > 2;
  for (int i = 0; i < 2; ++i)
    for (Label l : p.values[static_cast<std::size_t>(i)].labels)
      if (!has(p.output, l) && !has(p.values[static_cast<std::size_t>(1 - i)].labels, l)) return true;
  return false;
}

// Makes results between the operands and the last one float32 instead of float16 or bfloat16. The dtype of the last.
DType widen_steps(LabeledOperands& p) {
  DType dtype = p.values.front().x.dtype();
  for (const Value& v : p.values) dtype = promote(dtype, v.x.dtype());
  if (has_steps(p))
    for (Value& v : p.values) v.x = widened(v.x);
  return dtype;
}

}  // namespace
}  // namespace ops

Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  ops::LabeledOperands p = ops::label_operands(subscripts, operands);
  for (ops::Value& v : p.values) {
    ops::squeeze_ones(v, p.extents);
    ops::take_diagonals(v);
  }
  const DType dtype = ops::widen_steps(p);
  while (p.values.size() > 1) ops::contract_pair(p);
  ops::Value& last = p.values.front();
  ops::sum_out(last, [&](ops::Label l) { return ops::has(p.output, l); });
  Tensor result = ops::reorder_axes(ops::is_half(dtype) ? ops::cast_to(last.x, dtype) : last.x, last.labels, p.output);
  for (const Tensor& x : operands)
    if (result.id() == x.id()) return identity(result);  // the result of an op is a new tensor
  return result;
}

Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands, const detail::CallLine& at) {
  return einsum(subscripts, std::span(operands.begin(), operands.size()), at);
}

}  // namespace reel
