"""Partial derivatives by mpmath's differences, for the scripts beside it."""
import mpmath as mp


def by_differences(f, arguments, orders):
    """The derivative of f, of order orders[k] by argument k."""
    varied = [k for k, n in enumerate(orders) if n > 0]
    if not varied:
        return f(*arguments)

    def restricted(*some):
        full = list(arguments)
        for k, v in zip(varied, some):
            full[k] = v
        return f(*full)

    if len(varied) == 1:
        return mp.diff(restricted, arguments[varied[0]], orders[varied[0]])
    return mp.diff(restricted, tuple(arguments[k] for k in varied), tuple(orders[k] for k in varied))
