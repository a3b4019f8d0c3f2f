#include "loops/sort/sort.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <optional>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/sort/keys.hpp"
#include "loops/sort/radix.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {
namespace {

// A heap is used for up to 1 / heap_share of a row: once it is full, few elements enter it. No bench row.
constexpr std::int64_t heap_share = 64;

// The rows of a tensor.
struct KeyRows {
  std::int64_t count, n;
  explicit KeyRows(const Tensor& x) : count(0), n(0) {
    const detail::Block* b = detail::block(x);
    n = b->extents()[b->rank - 1];
    count = n == 0 ? 0 : b->size / n;
  }
  std::int64_t grain() const {
    return std::max<std::int64_t>(1, parallel_threshold / 16 / std::max<std::int64_t>(1, n));
  }
};

// Calls f<T>() for the element type T, which must have an order. Booleans are the bytes 0 and 1, in the order of uint8.
template <class F>
void visit_sortable(DType d, const F& f) {
  visit(d == DType::boolean ? DType::uint8 : d, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>)
      f.template operator()<T>();
  });
}

// Zeros of both signs, and all NaNs, have one key: sorted rows get their bits back, in the order of `row`.
template <class T>
void restore(const T* row, std::int64_t n, T* sorted) {
  using Key = typename Keys<T>::Key;
  const auto bits = [](const T& x) { return std::bit_cast<Key>(x); };
  const auto put = [&](std::int64_t first, auto belongs) {
    for (std::int64_t i = 0; i < n; ++i)
      if (belongs(bits(row[i]))) sorted[first++] = row[i];
  };
  bool negative_zero = false, nan = false;
  for (std::int64_t i = 0; i < n; ++i) {
    negative_zero |= bits(row[i]) == Keys<T>::sign;
    nan |= Keys<T>::is_nan(bits(row[i]));
  }
  if (negative_zero)
    put(std::find_if(sorted, sorted + n, [&](const T& x) { return Keys<T>::is_zero(bits(x)); }) - sorted,
        Keys<T>::is_zero);
  if (nan)
    put(std::find_if(sorted, sorted + n, [&](const T& x) { return Keys<T>::is_nan(bits(x)); }) - sorted,
        Keys<T>::is_nan);
}

// A key with the position of its element.
template <class Key>
struct Record {
  Key key;
  std::int64_t position;
  friend bool operator<(const Record& a, const Record& b) noexcept {
    return (a.key < b.key) | ((a.key == b.key) & (a.position < b.position));  // without a branch
  }
};
// Both in one integer, if they fit.
struct PackedRecord {
  std::uint64_t bits;
  PackedRecord() = default;
  PackedRecord(std::uint32_t key, std::int64_t position)
      : bits(std::uint64_t{key} << 32 | static_cast<std::uint32_t>(position)) {}
  friend bool operator<(PackedRecord a, PackedRecord b) noexcept { return a.bits < b.bits; }
};
// Keys for integers within 2^32 of each other: their distances from the minimum.
template <class T>
struct NarrowKeys {
  Keys<T> keys;
  typename Keys<T>::Key least;
  bool descending = keys.descending;
  std::uint32_t operator()(T x) const noexcept { return static_cast<std::uint32_t>(keys(x) - least); }

  static std::optional<NarrowKeys> of(const T* x, std::int64_t n, Keys<T> keys) {
    typename Keys<T>::Key least = keys(x[0]), most = least;
    for (std::int64_t i = 1; i < n; ++i) {
      const auto key = keys(x[i]);
      least = std::min(least, key);
      most = std::max(most, key);
    }
    if (most - least > std::numeric_limits<std::uint32_t>::max()) return {};
    return NarrowKeys{keys, least};
  }
};

template <class Key>
struct RecordParts {
  static Key key(const Record<Key>& r) noexcept { return r.key; }
  static std::uint32_t key(PackedRecord r) noexcept { return static_cast<std::uint32_t>(r.bits >> 32); }
  static std::int64_t position(const Record<Key>& r) noexcept { return r.position; }
  static std::int64_t position(PackedRecord r) noexcept { return static_cast<std::uint32_t>(r.bits); }
};

// Calls f(keys, length of a row, memory for `records` of its type, the row's positions) for each row.
template <class F>
void for_each_row(const Tensor& x, std::int64_t records, bool descending, const Tensor& positions, const F& f) {
  const KeyRows rows(x);
  if (rows.count == 0) return;
  auto* to = detail::mutable_data<std::int64_t>(positions);
  const std::int64_t results = positions.size() / rows.count;
  visit_sortable(x.dtype(), [&]<class T>() {
    using Key = typename Keys<T>::Key;
    const Keys<T> keys{descending};
    const T* from = detail::mutable_data<T>(x);
    const auto run = [&]<class R>(const auto& keys_of_rows) {
      Workspaces scratch(rows.count, records * static_cast<std::int64_t>(sizeof(R)));
      parallel_for(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
          scratch.use([&](std::byte* memory) {
            f(keys_of_rows, from + row * rows.n, reinterpret_cast<R*>(memory), to + row * results);
          });
      });
    };
    if (rows.n <= std::numeric_limits<std::uint32_t>::max()) {
      if constexpr (sizeof(Key) <= 4)
        return run.template operator()<PackedRecord>(keys);
      else if constexpr (std::is_integral_v<T>)
        if (const auto narrow = NarrowKeys<T>::of(from, rows.count * rows.n, keys))
          return run.template operator()<PackedRecord>(*narrow);
    }
    run.template operator()<Record<Key>>(keys);
  });
}

// order(records, scratch, n, parts) returns the ordered records of a row. Writes the positions of the ranks [first,
// last).
template <class Order>
void order_rows(const Tensor& x, std::int64_t first, std::int64_t last, bool descending, const Tensor& positions,
                const Order& order) {
  const std::int64_t n = KeyRows(x).n;
  for_each_row(x, 2 * n, descending, positions,
               [&]<class T, class R>(const auto& keys, const T* row, R* records, std::int64_t* to) {
                 using Parts = RecordParts<typename Keys<T>::Key>;
                 constexpr std::size_t bytes = std::min(sizeof(T), sizeof(Parts::key(R())));
                 for (std::int64_t i = 0; i < n; ++i) new (records + i) R{keys(row[i]), i};
                 const R* ordered = order.template operator()<bytes>(records, records + n, n, Parts());
                 for (std::int64_t k = first; k < last; ++k) to[k - first] = Parts::position(ordered[k]);
               });
}

// The best `count` records so far, worst first: few of them in order, many as a heap.
template <class R>
class Best {
 public:
  Best(R* records, std::int64_t count) : records_(records), count_(count), in_order_(count <= 32) {
    if (in_order_)
      std::sort(records, records + count, worse);
    else
      std::make_heap(records, records + count);
  }
  const R& worst() const { return records_[0]; }
  // Replaces the worst record by a better one.
  void exchange(R record) {
    if (in_order_) {
      std::int64_t at = 0;
      for (; at + 1 < count_ && record < records_[at + 1]; ++at) records_[at] = records_[at + 1];
      records_[at] = record;
    } else {
      std::pop_heap(records_, records_ + count_);
      records_[count_ - 1] = record;
      std::push_heap(records_, records_ + count_);
    }
  }
  // Sorts the records, the best first.
  void finish() {
    if (in_order_)
      std::reverse(records_, records_ + count_);
    else
      std::sort_heap(records_, records_ + count_);
  }

 private:
  static bool worse(const R& a, const R& b) { return b < a; }

  R* records_;
  std::int64_t count_;
  bool in_order_;
};

// The first `count` of each row.
void select_first(const Tensor& x, std::int64_t count, bool descending, const Tensor& positions) {
  const std::int64_t n = KeyRows(x).n;
  for_each_row(x, count, descending, positions,
               [&]<class T, class R>(const auto& keys, const T* row, R* records, std::int64_t* to) {
                 using Parts = RecordParts<typename Keys<T>::Key>;
                 for (std::int64_t i = 0; i < count; ++i) new (records + i) R{keys(row[i]), i};
                 Best<R> best(records, count);
                 T worst = row[Parts::position(best.worst())];
                 for (std::int64_t i = count; i < n; ++i) {
                   // Most elements are rejected here; a comparison with NaN is false.
                   if constexpr (std::is_arithmetic_v<T>)
                     if (keys.descending ? row[i] <= worst : row[i] >= worst) continue;
                   const auto key = keys(row[i]);
                   if (key >= Parts::key(best.worst())) continue;  // on ties the earlier element stays
                   best.exchange(R{key, i});
                   worst = row[Parts::position(best.worst())];
                 }
                 best.finish();
                 for (std::int64_t k = 0; k < count; ++k) to[k] = Parts::position(records[k]);
               });
}

// Moves the records of the ranks [first, last) to their places in one of the buffers, and returns that buffer.
// Partitions are branch-free: each record is written to both ends of the free part of the other buffer, and one end
// advances. After twice the number of rounds that halving would take, std::nth_element, whose time is bounded, does the
// rest.
template <class R>
const R* select_ranks(R* records, R* other, std::int64_t n, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t few = 128;         // records that are sorted instead of partitioned
  constexpr std::int64_t sample_size = 15;  // records whose quantile is the pivot
  std::int64_t begin = 0, end = n;
  for (auto rounds = 2 * std::bit_width(static_cast<std::uint64_t>(n)); end - begin > few && rounds > 0; --rounds) {
    R sample[sample_size];
    const std::int64_t middle = (first + last) / 2 - begin, stride = (end - begin) / sample_size;
    for (std::int64_t k = 0; k < sample_size; ++k) sample[k] = records[begin + k * stride];
    std::sort(sample, sample + sample_size);
    const R pivot = sample[middle * sample_size / (end - begin)];
    std::int64_t low = begin, high = end;
    for (std::int64_t i = begin; i < end; ++i) {
      const R record = records[i];
      other[low] = record;
      other[high - 1] = record;  // from the register: a read of other[low] would wait for the store
      const bool below = record < pivot;
      low += below;
      high -= !below;
    }
    const bool parted = first < low && last > low;  // there are wanted ranks on both sides
    if (low == begin || parted) break;              // `records` are unchanged
    (last <= low ? end : begin) = low;
    std::swap(records, other);
  }
  if (first > begin) std::nth_element(records + begin, records + first, records + end);
  if (last < end) std::nth_element(records + first, records + last, records + end);
  std::sort(records + first, records + last);
  return records;
}

struct Sorted {
  template <std::size_t Bytes, class R, class Parts>
  const R* operator()(R* records, R* scratch, std::int64_t n, Parts) const {
    return radix_sort<Bytes>(records, scratch, n, [](const R& r) { return Parts::key(r); });
  }
};

}  // namespace

void sort_rows(const Tensor& x, bool descending, const Tensor& y) {
  const KeyRows rows(x);
  visit_sortable(x.dtype(), [&]<class T>() {
    using Key = typename Keys<T>::Key;
    const Keys<T> keys{descending};
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(y);
    Workspaces scratch(rows.count, 2 * rows.n * static_cast<std::int64_t>(sizeof(Key)));
    parallel_for(rows.count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        scratch.use([&](std::byte* memory) {
          Key* all = reinterpret_cast<Key*>(memory);
          const T* in = from + row * rows.n;
          T* out = to + row * rows.n;
          for (std::int64_t i = 0; i < rows.n; ++i) new (all + i) Key(keys(in[i]));
          const Key* sorted = radix_sort<sizeof(Key)>(all, all + rows.n, rows.n, [](Key k) { return k; });
          for (std::int64_t i = 0; i < rows.n; ++i) out[i] = keys.element(sorted[i]);
          if constexpr (Keys<T>::floating) restore(in, rows.n, out);
        });
    });
  });
}

void argsort_rows(const Tensor& x, bool descending, const Tensor& positions) {
  order_rows(x, 0, KeyRows(x).n, descending, positions, Sorted());
}

void select_rows(const Tensor& x, std::int64_t first, std::int64_t last, bool descending, const Tensor& positions) {
  // A selection reads the remaining elements repeatedly; sorting all records takes about eight passes.
  const std::int64_t length = KeyRows(x).n;
  if (first == 0 && last <= length / heap_share) return select_first(x, last, descending, positions);
  if (last - first > length / 4) return order_rows(x, first, last, descending, positions, Sorted());
  order_rows(x, first, last, descending, positions,
             [=]<std::size_t Bytes, class R, class Parts>(R* records, R* other, std::int64_t n, Parts) -> const R* {
               return select_ranks(records, other, n, first, last);
             });
}

void partition_rows(const Tensor& x, std::int64_t kth, const Tensor& positions) {
  order_rows(x, 0, KeyRows(x).n, false, positions,
             [=]<std::size_t Bytes, class R, class Parts>(R* records, R*, std::int64_t n, Parts) -> const R* {
               std::nth_element(records, records + kth, records + n);
               return records;
             });
}

namespace {

// The number of keys below `key` among n ascending ones. Branch-free in the comparisons.
template <class Key, class At>
std::int64_t count_below(Key key, std::int64_t n, const At& at) {
  std::int64_t first = 0;
  while (n > 1) {
    const std::int64_t half = n / 2;
    first += half & -static_cast<std::int64_t>(at(first + half - 1) < key);
    n -= half;
  }
  return n == 0 ? 0 : first + (at(first) < key);
}

// Calls f(at) with a function that returns the key at an index of the tables. Keys of all elements are computed once if
// more than this many values are searched.
template <class T, class F>
void with_table_keys(const Tensor& sorted, std::int64_t values, const F& f) {
  using Key = typename Keys<T>::Key;
  const Keys<T> keys{false};
  const T* table = detail::mutable_data<T>(sorted);
  if (values < sorted.size()) return f([=](std::int64_t i) { return keys(table[i]); });
  const std::int64_t bytes = sorted.size() * static_cast<std::int64_t>(sizeof(Key));
  const Tensor memory = detail::empty(DType::uint8, {bytes});
  auto* all = reinterpret_cast<Key*>(detail::mutable_data<std::uint8_t>(memory));
  for (std::int64_t i = 0; i < sorted.size(); ++i) new (all + i) Key(keys(table[i]));
  f([=](std::int64_t i) { return all[i]; });
}

}  // namespace

void search_rows(const Tensor& sorted, const Tensor& values, bool right, const Tensor& places) {
  if (values.size() == 0) return;
  const std::int64_t n = sorted.shape()[-1], m = values.shape()[-1], tables = n == 0 ? 1 : sorted.size() / n;
  auto* to = detail::mutable_data<std::int64_t>(places);
  visit_sortable(sorted.dtype(), [&]<class T>() {
    const Keys<T> keys{false};
    const T* sought = detail::mutable_data<T>(values);
    with_table_keys<T>(sorted, values.size(), [&](const auto& table) {
      parallel_for(values.size(), parallel_threshold / 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = tables == 1 ? 0 : i / m * n;
          const auto key = keys(sought[i]);
          // The position after equal elements is that before the next larger key, if there is one.
          to[i] = right && key == Keys<T>::highest ? n
                                                   : count_below(static_cast<typename Keys<T>::Key>(key + right), n,
                                                                 [&](std::int64_t k) { return table(first + k); });
        }
      });
    });
  });
}

}  // namespace reel::loops
