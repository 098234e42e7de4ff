import types
import unittest

from tilescope import _compile, unwritten


def kernel(**params):
    """A kernel of Triton: of each parameter what differs from a plain one."""
    plain = {"is_constexpr": False, "has_default": False, "do_not_specialize": False, "annotation_type": ""}
    made = types.SimpleNamespace(__name__="k")
    made.params = [types.SimpleNamespace(name=n, **{**plain, **more}) for n, more in params.items()]
    return made


def meta(**constants):
    return {"constants": constants, "heuristics": []}


FIXED = {"is_constexpr": True}


class Signed(unittest.TestCase):
    def test_types(self):
        k = kernel(x={}, n={}, big={}, f={}, b={}, t={}, a={"annotation_type": "i64"}, C=FIXED)
        values = {
            "x": unwritten(4, "f16"), "n": 7, "big": 1 << 40, "f": 0.5, "b": True,
            "t": _compile.Number(3, "u8"), "a": 5, "C": _compile.Number(64, "i32"),
        }
        signature, constants = _compile.signed(k, values, meta())
        self.assertEqual(constants, {"C": 64})
        self.assertEqual(signature, {
            "x": "*fp16", "n": "i32", "big": "i64", "f": "fp32", "b": "i1", "t": "u8", "a": "i64", "C": "constexpr",
        })

    def test_none_and_one(self):
        k = kernel(bias={}, stride={}, plain={"do_not_specialize": True}, given={}, yes={})
        values = {"bias": None, "stride": 1, "plain": 1, "given": _compile.Number(1, "i32"), "yes": True}
        signature, constants = _compile.signed(k, values, meta())
        self.assertEqual(constants, {"bias": None, "stride": 1})
        self.assertEqual(list(signature.values()), ["constexpr", "constexpr", "i32", "i32", "i1"])

    def test_defaults(self):
        k = kernel(n={"has_default": True, "default": 9}, bias={"has_default": True, "default": None}, B=FIXED)
        values = {}
        self.assertEqual(_compile.signed(k, values, meta(B=32))[1], {"bias": None, "B": 32})
        self.assertEqual(values, {"n": 9})

    def test_refusals(self):
        strange = {"has_default": True, "default": "no number"}
        for params, values, want in (
            ({"x": {}}, {}, "no --arg for x"),
            ({"x": {}}, {"x": 1, "y": 2}, "--arg y: k has no such argument"),
            ({"B": FIXED}, {"B": unwritten(4, "f32")}, "B is a constexpr"),
            ({"x": {}}, {"x": 1 << 64}, "does not fit 64 bits"),
            ({"s": strange}, {}, "expected --arg s"),
        ):
            with self.assertRaisesRegex(_compile.Problem, want):
                _compile.signed(kernel(**params), values, meta())


class Computed(unittest.TestCase):
    def test_heuristics(self):
        m = meta(BLOCK=32)
        m["heuristics"] = [{"EVEN": lambda a: a["n"] % a["BLOCK"] == 0}, {"TWICE": lambda a: a["EVEN"] * 2, "n": None}]
        _compile.computed({"n": 64}, m)
        self.assertEqual(m["constants"], {"BLOCK": 32, "EVEN": True, "TWICE": 2})

    def test_one_that_fails(self):
        m = meta()
        m["heuristics"] = [{"EVEN": lambda a: a["n"].numel()}]
        with self.assertRaisesRegex(_compile.Problem, "no --arg for EVEN, and its heuristic fails: AttributeError"):
            _compile.computed({"n": 64}, m)
