"""Inputs that the evals refuse: (module, function, input, error)."""
import copy


def changed(given, path, value):
    """A copy of nested objects with another value at "a.b"; without the field for ..."""
    given = copy.deepcopy(given)
    *way, last = path.split(".")
    node = given
    for key in way:
        node = node[key]
    node[last] = value
    if value is ...:
        del node[last]
    return given


def matrix(*shape):
    return [matrix(*shape[1:]) for _ in range(shape[0])] if shape else 1.0


GOOD = {
    "ba": {"n": 1, "m": 1, "p": 1, "cam": matrix(11), "x": matrix(3), "w": 1.0, "feat": matrix(2)},
    "det": {"A": [1.0, 2.0, 3.0, 4.0], "ell": 2},
    "gmm": {"d": 2, "k": 1, "n": 3, "m": 0, "gamma": 1.0, "x": matrix(3, 2), "alpha": [1.0], "mu": matrix(1, 2), "q": matrix(1, 2),
            "l": matrix(1, 1)},
    "ht": {"theta": matrix(26), "us": [],
           "data": {"correspondences": [0, 1], "points": matrix(2, 3),
                    "model": {"parents": [-1, 0], "is_mirrored": False, "base_relatives": matrix(2, 4, 4),
                              "inverse_base_absolutes": matrix(2, 4, 4), "base_positions": matrix(3, 4), "weights": matrix(3, 2),
                              "triangles": [[0, 1, 2]]}}},
    "kmeans": {"points": matrix(2, 3), "centroids": matrix(1, 3)},
    "llsq": {"x": [1.0, 2.0], "n": 3},
    "lse": {"x": [1.0, 2.0]},
    "lstm": {"main_params": matrix(2, 12), "extra_params": matrix(3, 3), "state": matrix(2, 3), "sequence": matrix(2, 3)},
    "ode": {"x": [1.0, 2.0], "s": 2},
    "particle": {"w": 1.0},
    "saddle": {"start": [1.0, 2.0]},
}
FUNCTIONS = {"ba": ("objective", "jacobian"), "gmm": ("objective", "jacobian"), "ht": ("objective", "jacobian"),
             "lstm": ("objective", "jacobian"), "kmeans": ("cost", "dir"), "particle": ("ff", "rr"), "saddle": ("fr", "rf")}

COUNT = "an integer from 1 on"
CHANGES = {
    "ba": [("cam", [0, 0, 0], "'cam' has the shape [3]; it must have [11]"), ("cam", [0], "'cam' has the shape [1]; it must have [11]"),
           ("x", [1, 2], "'x' has the shape [2]; it must have [3]"), ("feat", [[1, 2]], "'feat' has the shape [1, 2]; it must have [2]"),
           ("n", 0, "'n' is 0; it must be an integer from 1 to 143165576"), ("m", -1, "'m' is -1; it must be an integer from 1 to 143165576"),
           ("p", 1.5, "'p' is 1.5; it must be an integer from 1 to 143165576"), ("w", [1], "'w' is a list; it must be a number")],
    "det": [("ell", 0, f"'ell' is 0; it must be {COUNT}"), ("ell", -2, f"'ell' is -2; it must be {COUNT}"),
            ("ell", 3, "'A' has the shape [4]; it must have [9]"), ("A", [], "'A' has the shape [0]; it must have [4]"),
            ("A", [[1, 2], [3, 4]], "'A' has the shape [2, 2]; it must have [4]")],
    "gmm": [("n", 2, "'x' has the shape [3, 2]; it must have [2, 2]"), ("k", 2, "'alpha' has the shape [1]; it must have [2]"),
            ("l", [[]], "'l' has the shape [1, 0]; it must have [1, 1]"), ("d", 0, f"'d' is 0; it must be {COUNT}"),
            ("m", -1, "'m' is -1; it must be an integer from 0 on"), ("gamma", None, "'gamma' is null; it must be a number"),
            ("gamma", 0, "'gamma' is 0; it must be positive"), ("mu", 3, "'mu' is 3; it must be a list of numbers of the shape [1, 2]")],
    "ht": [("theta", matrix(25), "'theta' has the shape [25]; it must have [26]"), ("us", matrix(1, 2), "'us' has the shape [1, 2]; it must have [2, 2]"),
           ("data", ..., "the input has no field 'data'"), ("data.points", matrix(2, 2), "'data.points' has the shape [2, 2]; it must have [1 or more, 3]"),
           ("data.correspondences", [0], "'data.correspondences' is a list of 1; it must be one number for each of 2 points"),
           ("data.correspondences", [0, 3], "'data.correspondences[1]' is 3; it must be an integer from 0 to 2"),
           ("data.model.parents", [], "'data.model.parents' is an empty list; it must be that of all bones"),
           ("data.model.parents", [-1, 2], "'data.model.parents[1]' is 2; it must be an integer from -1 to 1"),
           ("data.model.parents", [1, 0], "input: the parents of the bones go round in a circle"),
           ("data.model.is_mirrored", 0, "'data.model.is_mirrored' is 0; it must be true or false"),
           ("data.model.weights", matrix(3, 3), "'data.model.weights' has the shape [3, 3]; it must have [3, 2]"),
           ("data.model.base_relatives", matrix(2, 3, 4), "'data.model.base_relatives' has the shape [2, 3, 4]; it must have [2, 4, 4]"),
           ("data.model.inverse_base_absolutes", ..., "'data.model' has no field 'inverse_base_absolutes'")],
    "kmeans": [("points", [[1.0, 2.0], [3.0]], "'points[1]' has the length 1; it must have 2 as 'points[0]' has"),
               ("points", [], "'points' has the shape [0]; it must have [1 or more, 1 or more]"),
               ("centroids", [[1.0]], "'centroids' has the shape [1, 1]; it must have [1 or more, 3]"),
               ("centroids", [], "'centroids' has the shape [0]; it must have [1 or more, 3]")],
    "llsq": [("n", 2.5, "'n' is 2.5; it must be an integer from 2 on"), ("n", 0, "'n' is 0; it must be an integer from 2 on"),
             ("n", 1, "'n' is 1; it must be an integer from 2 on"), ("n", -3, "'n' is -3; it must be an integer from 2 on"),
             ("n", ..., "the input has no field 'n'"), ("n", 10**30, "'n' is 1e+30; it must be an integer from 2 to 2147483647"),
             ("x", [[1], [2]], "'x' has the shape [2, 1]; it must have [1 or more]"), ("x", [], "'x' has the shape [0]; it must have [1 or more]"),
             ("x", eval("[" * 60 + "1" + "]" * 60), "'x' has the shape [1, 1, 1, 1, 1, 1, 1, 1, ...]; it must have [1 or more]"),
             ("x", [1, "a"], "'x[1]' is a string; it must be a number"), ("x", {}, "'x' is an object; it must be a list of numbers of the shape [1 or more]")],
    "lse": [("x", "text", "'x' is a string; it must be a list of numbers of the shape [1 or more]"), ("x", [1.0, None], "'x[1]' is null; it must be a number"),
            ("x", [1.0, [2.0]], "'x[1]' is a list; it must be a number"), ("x", [], "'x' has the shape [0]; it must have [1 or more]"),
            ("min_runs", "many", "'min_runs' is a string; it must be an integer from 0 on"), ("min_seconds", [], "'min_seconds' is a list; it must be a number")],
    "lstm": [("main_params", matrix(2, 11), "'main_params' has the shape [2, 11]; it must have [2, 12]"),
             ("extra_params", matrix(2, 3), "'extra_params' has the shape [2, 3]; it must have [3, 3]"),
             ("state", matrix(3, 3), "'state' is a list of 3; it must be two rows for each layer"), ("state", [], "'state' is an empty list; it must be two rows for each layer"),
             ("state", matrix(2, 4), "'state' has the shape [2, 4]; it must have [2, 3]"),
             ("sequence", matrix(1, 3), "'sequence' is one character; it must be two or more: each tells of the next")],
    "ode": [("s", 0, f"'s' is 0; it must be {COUNT}"), ("s", -1, f"'s' is -1; it must be {COUNT}"), ("x", 0.5, "'x' is 0.5; it must be a list of numbers of the shape [1 or more]"),
            ("x", [], "'x' has the shape [0]; it must have [1 or more]")],
    "particle": [("w", "1", "'w' is a string; it must be a number")],
    "saddle": [("start", [1.0, 2.0, 3.0], "'start' has the shape [3]; it must have [2]")],
}


def cases():
    for module, changes in CHANGES.items():
        for function in FUNCTIONS.get(module, ("primal", "gradient")):
            for path, value, error in changes:
                yield module, function, changed(GOOD[module], path, value), error
            yield module, function, None, "the input is null; it must be an object"
    for given, error in ((None, "the input is null; it must be a number"), ([1, 2], "the input is a list; it must be a number"),
                         ("x", "the input is a string; it must be a number")):
        yield "hello", "square", given, error
        yield "hello", "double", given, error
    yield "hello", "square", 1e200, "the output has a NaN or an infinity, which JSON has not"
    yield "kmeans", "dir", {"points": matrix(2, 1), "centroids": [[1.0], [100.0]]}, (
        "no point is nearest to centroid 1: Newton's direction is 0 / 0 there; leave the centroid out")
    for corner, error in (([0, 1, 3], "'data.model.triangles[0][2]' is 3; it must be an integer from 0 to 2"),
                          ([0, 1], "'data.model.triangles[0]' is a list of 2; it must be three vertices")):
        given = changed(changed(GOOD["ht"], "us", matrix(2, 2)), "data.correspondences", [0, 0])
        yield "ht", "jacobian", changed(given, "data.model.triangles", [corner]), error
