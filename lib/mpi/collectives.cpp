// The ops: exchanges of values, and around each the linear map that tapes and forward mode see.
#include <algorithm>
#include <cstring>
#include <functional>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/reel.hpp>

#include "mpi/rows.hpp"

namespace reel {

namespace {

using mpi::Op;
using Ranks = Communicator::State;
using mpi::Received, mpi::elements, mpi::sum_of_rows, mpi::bytes_of;
using Map = std::function<Tensor(const Tensor&)>;

// While a function is traced no tensor has a value, and what other ranks send would become a constant of the program:
// also where x is a constant itself, or gives a shape only. A variable that is read tells.
void refuse_tracing(const char* name) {
  static const Variable& probe = *new Variable(zeros({}), {}, false);
  const Tensor value = probe.read();
  try {
    detail::strided_data(value, value.dtype());
  } catch (const TraceError&) {
    throw TraceError(std::string(name) + ": compile() cannot trace communication; call it outside of the function");
  }
}

// An op that is linear in x: `value` exchanges, `op` is the op itself, for tangents, and `adjoint` the op for
// cotangents. Both are recorded in turn, so that derivatives of every order follow.
Tensor linear(const char* name, const Tensor& x, Map value, Map op, Map adjoint) {
  refuse_tracing(name);
  auto forward = [value = std::move(value), adjoint = std::move(adjoint)](const Tensor& operand) {
    return std::pair(value(operand), [adjoint](const Tensor& g) { return adjoint(g); });
  };
  auto jvp = [op = std::move(op)](const auto&, const auto& tangents) { return op(std::get<0>(tangents)); };
  return detail::CustomGradient<decltype(forward), decltype(jvp)>{name, std::move(forward), std::move(jvp)}(x);
}

// [size, ...] of all ranks' x.
Tensor gather_blocks(Ranks& ranks, const char* op, const Tensor& operand) {
  const Tensor x = contiguous(operand);
  Shape shape = x.shape();
  shape.insert(0, ranks.size);
  const Received all(shape, x.dtype());
  const int bytes = bytes_of(op, x.size(), x.dtype());
  mpi::complete(ranks, op, {x, all.tensor}, [&](auto& requests) {
    return MPI_Iallgather(elements(x), bytes, MPI_BYTE, all.data, bytes, MPI_BYTE, ranks.data,
                          &requests.emplace_back());
  });
  return all.tensor;
}

// Row k of x [size, ...] to rank k.
Tensor exchange(Ranks& ranks, const char* op, const Tensor& operand) {
  const Tensor x = contiguous(operand);
  const Received all(x.shape(), x.dtype());
  const int bytes = bytes_of(op, x.size() / ranks.size, x.dtype());
  mpi::complete(ranks, op, {x, all.tensor}, [&](auto& requests) {
    return MPI_Ialltoall(elements(x), bytes, MPI_BYTE, all.data, bytes, MPI_BYTE, ranks.data, &requests.emplace_back());
  });
  return all.tensor;
}

void check_rows(const Ranks& ranks, Op op, const Tensor& x) {
  if (x.rank() == 0 || x.shape()[0] != ranks.size)
    throw ShapeError(std::string(mpi::name_of(op)) + ": x has shape " + to_string(x.shape()) +
                     "; it needs one row for each of the " + std::to_string(ranks.size) + " ranks along axis 0");
}
void check_rank(const Ranks& ranks, const char* op, const char* what, int rank, bool none = false) {
  if (rank < (none ? no_rank : 0) || rank >= ranks.size)
    throw IndexError(std::string(op) + ": " + what + ' ' + std::to_string(rank) + " is no rank; there are " +
                     std::to_string(ranks.size) + ", from 0");
}

// Small tensors are gathered whole, in one exchange. Of larger ones each rank sums a part, which then is gathered:
// every rank sends and receives twice the tensor, as in a ring.
constexpr std::int64_t gathered_elements = 512;  // below it the time of an exchange does not depend on its size

// The elements of a message of sum_of_all.
std::int64_t part_of(const Ranks& ranks, const Tensor& x) {
  return x.size() <= gathered_elements ? x.size() : (x.size() + ranks.size - 1) / ranks.size;
}

Tensor sum_of_all(Ranks& ranks, const Tensor& x) {
  const char* op = mpi::name_of(Op::all_reduce);
  if (x.size() <= gathered_elements) {
    const Tensor all = gather_blocks(ranks, op, reshape(x, {x.size()}));  // flat, since x may have the highest rank
    return reshape(sum_of_rows(all, 0, ranks.size), x.shape());
  }
  const Tensor mine = sum_of_rows(exchange(ranks, op, mpi::in_rows(x, ranks.size)), 0, ranks.size);
  const Tensor all = reshape(gather_blocks(ranks, op, mine), {mine.size() * ranks.size});
  return reshape(slice(all, {range(0, x.size())}), x.shape());
}

// As mpi::announce, for messages of so many elements: a size that MPI cannot send is an error on all ranks, before one
// waits for another and before x is copied.
void announce(Ranks& ranks, Op op, const Tensor& x, std::int64_t message, int root = 0) {
  bytes_of(mpi::name_of(op), message, x.dtype());
  mpi::announce(ranks, op, x, root);
}

// `reduction` is what the caller makes of the sum.
Tensor all_reduce_sum(const Communicator& ranks, const Tensor& x, MpiReduction reduction) {
  const auto value = [ranks, reduction](const Tensor& operand) {
    announce(ranks.state(), Op::all_reduce, operand, part_of(ranks.state(), operand), static_cast<int>(reduction));
    return sum_of_all(ranks.state(), operand);
  };
  const auto again = [ranks, reduction](const Tensor& g) { return all_reduce_sum(ranks, g, reduction); };
  return linear("all_reduce", x, value, again, again);
}

// all_gather as a part of `op`, which the ranks compare.
Tensor gather_for(Op op, int root, const Communicator& ranks, const Tensor& x) {
  return linear(
      mpi::name_of(op), x,
      [=](const Tensor& operand) {
        announce(ranks.state(), op, operand, operand.size(), root);
        return gather_blocks(ranks.state(), mpi::name_of(op), operand);
      },
      [=](const Tensor& t) { return gather_for(op, root, ranks, t); },
      [ranks](const Tensor& g) { return reduce_scatter(ranks, g); });
}

}  // namespace

Tensor all_reduce(const Communicator& ranks, const Tensor& x, MpiReduction reduction) {
  const auto all = [&] { return gather_for(Op::all_reduce, static_cast<int>(reduction), ranks, x); };
  switch (reduction) {
    case MpiReduction::sum:
      return all_reduce_sum(ranks, x, reduction);
    case MpiReduction::mean: {
      const bool exact = is_floating(x.dtype()) || is_complex(x.dtype());
      return all_reduce_sum(ranks, exact ? x : cast(x, DType::float64), reduction) / ranks.size();
    }
    case MpiReduction::max:
      return max(all(), {0});
    case MpiReduction::min:
      return min(all(), {0});
  }
  throw ValueError("all_reduce: the reduction is none of sum, mean, max and min");
}

Tensor all_gather(const Communicator& ranks, const Tensor& x) { return gather_for(Op::all_gather, 0, ranks, x); }

Tensor reduce_scatter(const Communicator& ranks, const Tensor& x) {
  check_rows(ranks.state(), Op::reduce_scatter, x);
  return linear(
      "reduce_scatter", x,
      [ranks](const Tensor& operand) {
        announce(ranks.state(), Op::reduce_scatter, operand, operand.size() / ranks.size());
        return sum_of_rows(exchange(ranks.state(), "reduce_scatter", operand), 0, ranks.size());
      },
      [ranks](const Tensor& t) { return reduce_scatter(ranks, t); },
      [ranks](const Tensor& g) { return all_gather(ranks, g); });
}

Tensor broadcast(const Communicator& ranks, const Tensor& x, int root) {
  check_rank(ranks.state(), "broadcast", "root", root);
  return linear(
      "broadcast", x,
      [ranks, root](const Tensor& operand) {
        announce(ranks.state(), Op::broadcast, operand, operand.size(), root);
        const Tensor own = contiguous(operand);
        const Received result(own.shape(), own.dtype());
        const int bytes = bytes_of("broadcast", own.size(), own.dtype());
        if (bytes > 0) std::memcpy(result.data, elements(own), static_cast<std::size_t>(bytes));
        mpi::complete(ranks.state(), "broadcast", {result.tensor}, [&](auto& requests) {
          return MPI_Ibcast(result.data, bytes, MPI_BYTE, root, ranks.state().data, &requests.emplace_back());
        });
        return result.tensor;
      },
      [ranks, root](const Tensor& t) { return broadcast(ranks, t, root); },
      [ranks, root](const Tensor& g) { return reduce(ranks, g, root); });
}

Tensor reduce(const Communicator& ranks, const Tensor& x, int root) {
  check_rank(ranks.state(), "reduce", "root", root);
  return linear(
      "reduce", x,
      [ranks, root](const Tensor& operand) {
        announce(ranks.state(), Op::reduce, operand, part_of(ranks.state(), operand), root);
        const Tensor total = sum_of_all(ranks.state(), operand);
        return ranks.rank() == root ? total : zeros_like(total);
      },
      [ranks, root](const Tensor& t) { return reduce(ranks, t, root); },
      [ranks, root](const Tensor& g) { return broadcast(ranks, g, root); });
}

Tensor all_to_all(const Communicator& ranks, const Tensor& x) {
  check_rows(ranks.state(), Op::all_to_all, x);
  const auto value = [ranks](const Tensor& operand) {
    announce(ranks.state(), Op::all_to_all, operand, operand.size() / ranks.size());
    return exchange(ranks.state(), "all_to_all", operand);
  };
  const auto again = [ranks](const Tensor& g) { return all_to_all(ranks, g); };
  return linear("all_to_all", x, value, again, again);
}

Tensor sendrecv(const Communicator& ranks, const Tensor& x, int to, int from) {
  check_rank(ranks.state(), "sendrecv", "to", to, true);
  check_rank(ranks.state(), "sendrecv", "from", from, true);
  return linear(
      "sendrecv", x,
      [ranks, to, from](const Tensor& operand) {
        announce(ranks.state(), Op::sendrecv, operand, operand.size());
        const Tensor own = contiguous(operand);
        const Received result(own.shape(), own.dtype());
        const int bytes = bytes_of("sendrecv", own.size(), own.dtype());
        if (from == no_rank && bytes > 0) std::memset(result.data, 0, static_cast<std::size_t>(bytes));
        mpi::complete(ranks.state(), "sendrecv", {own, result.tensor}, [&](auto& requests) {
          constexpr int tag = 0;
          MPI_Comm comm = ranks.state().data;
          int code = MPI_SUCCESS;
          if (from != no_rank)
            code = MPI_Irecv(result.data, bytes, MPI_BYTE, from, tag, comm, &requests.emplace_back());
          if (to != no_rank && code == MPI_SUCCESS)
            code = MPI_Isend(elements(own), bytes, MPI_BYTE, to, tag, comm, &requests.emplace_back());
          return code;
        });
        return result.tensor;
      },
      [ranks, to, from](const Tensor& t) { return sendrecv(ranks, t, to, from); },
      [ranks, to, from](const Tensor& g) { return sendrecv(ranks, g, from, to); });
}

namespace {

// Tags of messages between two ranks: sendrecv has 0.
constexpr int call_tag = 1, data_tag = 2;

// A tensor's description goes first, so that the receiver can refuse what it does not expect.
void post(Ranks& ranks, const Tensor& operand, int to) {
  const int bytes = bytes_of("send", operand.size(), operand.dtype());
  const Tensor own = contiguous(operand);
  const Received call({1, static_cast<std::int64_t>(sizeof(MpiCall))}, DType::uint8);
  const MpiCall mine = mpi::describe(0, Op::send, own, to);
  std::memcpy(call.data, &mine, sizeof mine);
  mpi::complete(ranks, "send", {own, call.tensor}, [&](auto& requests) {
    const int code = MPI_Isend(call.data, sizeof mine, MPI_BYTE, to, call_tag, ranks.data, &requests.emplace_back());
    if (code != MPI_SUCCESS) return code;
    return MPI_Isend(elements(own), bytes, MPI_BYTE, to, data_tag, ranks.data, &requests.emplace_back());
  });
}

Tensor fetch(Ranks& ranks, const Tensor& like, int from) {
  const int bytes = bytes_of("recv", like.size(), like.dtype());
  const Received call({1, static_cast<std::int64_t>(sizeof(MpiCall))}, DType::uint8),
      result(like.shape(), like.dtype());
  mpi::complete(ranks, "recv", {call.tensor}, [&](auto& requests) {
    return MPI_Irecv(call.data, sizeof(MpiCall), MPI_BYTE, from, call_tag, ranks.data, &requests.emplace_back());
  });
  const MpiCall expected = mpi::describe(0, Op::send, like, ranks.rank);
  if (std::memcmp(call.data, &expected, sizeof expected) != 0)
    mpi::refuse(ranks, "recv: rank " + std::to_string(ranks.rank) + " expects " + mpi::in_words(expected) + ", rank " +
                           std::to_string(from) + " calls " + mpi::in_words(*static_cast<const MpiCall*>(call.data)));
  mpi::complete(ranks, "recv", {result.tensor}, [&](auto& requests) {
    return MPI_Irecv(result.data, bytes, MPI_BYTE, from, data_tag, ranks.data, &requests.emplace_back());
  });
  return result.tensor;
}

}  // namespace

// The adjoint of send receives, and that of recv sends. Each passes on what it was given, times 0, so that derivatives
// of derivatives find the way back.
Tensor send(const Communicator& ranks, const Tensor& x, int to) {
  check_rank(ranks.state(), "send", "to", to);
  const auto value = [ranks, to](const Tensor& operand) {
    post(ranks.state(), operand, to);
    return zeros({}, operand.dtype());
  };
  const auto again = [ranks, to](const Tensor& t) { return send(ranks, t, to); };
  const auto adjoint = [ranks, to, shape = x.shape()](const Tensor& g) {
    return recv(ranks, broadcast_to(g, shape), to);
  };
  return linear("send", x, value, again, adjoint);
}

Tensor recv(const Communicator& ranks, const Tensor& like, int from) {
  check_rank(ranks.state(), "recv", "from", from);
  const auto value = [ranks, from](const Tensor& operand) { return fetch(ranks.state(), operand, from); };
  const auto again = [ranks, from](const Tensor& t) { return recv(ranks, t, from); };
  const auto adjoint = [ranks, from](const Tensor& g) { return broadcast_to(send(ranks, g, from), g.shape()); };
  return linear("recv", like, value, again, adjoint);
}

}  // namespace reel
