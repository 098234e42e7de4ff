import array
import os
import unittest

import tilescope
from tests import fakes
from tests.test_bundle import opened
from tilescope import BundleError, unwritten

X = array.array("f", range(128))


def args(**more):
    return {"X": X, "Y": unwritten(128, "f32"), "factor": 2.0, "n": 128, **more}


class Launch(unittest.TestCase):
    def test_by_name(self):
        d, members = opened(tilescope.bundle(fakes.triton(), args(), grid=(2,)))
        self.assertEqual((d["origin"], d["entry"], d["versions"]["triton"]), ("triton", "scale_rows", "3.9.0"))
        self.assertEqual(d["launch"], {"grid": [2, 1, 1], "block": [128, 1, 1], "cluster": [1, 1, 1], "shared": 512, "cooperative": False})
        self.assertEqual([p["name"] for p in d["parameters"]], ["X", "Y", "factor", "n", "global_scratch", "profile_scratch"])
        self.assertEqual(d["parameters"][2], {"name": "factor", "value": "00000040", "type": "f32"})
        self.assertEqual(d["parameters"][4], {"name": "global_scratch", "value": "00" * 8, "type": "i64"} if "type" in d["parameters"][4] else
                         {"name": "global_scratch", "value": "00" * 8})

    def test_in_order(self):
        y = unwritten(128, "f32")
        for values in ([X, y, 2.0, 128], [X, y, 2.0, 128, 64]):
            d, _ = opened(tilescope.bundle(fakes.triton(), values, grid=2))
            self.assertEqual(d["memory"][0]["name"], "X")

    def test_grid_of_the_constexprs(self):
        d, _ = opened(tilescope.bundle(fakes.triton(), args(), grid=lambda meta: (meta["n"] // meta["BLOCK"],)))
        self.assertEqual(d["launch"]["grid"], [2, 1, 1])

    def test_clusters(self):
        d, _ = opened(tilescope.bundle(fakes.triton(num_ctas=2), args(), grid=(3, 4)))
        self.assertEqual((d["launch"]["grid"], d["launch"]["cluster"]), ([6, 4, 1], [2, 1, 1]))

    def test_scratch(self):
        d, _ = opened(tilescope.bundle(fakes.triton(global_scratch_size=128), args(), grid=(3,)))
        self.assertEqual(d["memory"][2], {"name": "global_scratch", "dtype": "u8", "dims": [384]})

    def test_file_that_is_gone(self):
        c = fakes.triton()
        gone = "/gone/" + os.path.basename(__file__)
        c.asm["ptx"] += f'\n.file 7 "{gone}"\n.file 8 "/gone/other.py"\n'
        c.src.fn.fn = self.test_file_that_is_gone.__func__
        d, members = opened(tilescope.bundle(c, args(), grid=1))
        with open(__file__, "rb") as f:
            own = f.read()
        sources = {s["path"]: members["sources/" + s["path"]] for s in d["sources"]}
        self.assertIn(own, sources.values())
        self.assertFalse([name for name in sources if "other.py" in name])

    def test_older_releases(self):
        c = fakes.triton()
        c.src.signature = dict(enumerate(["*fp32", "*fp32", "fp32", "i32"]))
        c.src.constants = {4: 64}
        c.metadata = dict(c.metadata._asdict())
        d, _ = opened(tilescope.bundle(c, args(), grid=lambda meta: (meta["BLOCK"] // 32,)))
        self.assertEqual(d["launch"]["grid"], [2, 1, 1])

    def test_specialised_to_one(self):
        c = fakes.triton(signature={**fakes.SIGNATURE, "one": "constexpr"})
        d, _ = opened(tilescope.bundle(c, args(one=1), grid=1))
        self.assertEqual(len(d["parameters"]), 6)

    def test_tuples(self):
        c = fakes.triton(signature={"pair": ("*fp32", "*fp32"), "factor": "fp32", "n": "i32"})
        c.src.constants = {}
        d, _ = opened(tilescope.bundle(c, {"pair": (X, unwritten(128, "f32")), "factor": 1.0, "n": 2}, grid=1))
        self.assertEqual([p["name"] for p in d["parameters"]][:3], ["pair.0", "pair.1", "factor"])

    def test_cooperative(self):
        d, _ = opened(tilescope.bundle(fakes.triton(launch_cooperative_grid=True), args(), grid=1))
        self.assertTrue(d["launch"]["cooperative"])


class Refusals(unittest.TestCase):
    def refused(self, pattern, compiled, values, grid=1):
        with self.assertRaisesRegex(BundleError, pattern):
            tilescope.bundle(compiled, values, grid=grid)

    def test_arguments(self):
        self.refused("no such argument", fakes.triton(), args(Z=1))
        self.refused("no argument for n", fakes.triton(), {k: v for k, v in args().items() if k != "n"})
        self.refused("2 arguments; expected 4", fakes.triton(), [X, X])
        self.refused("compiled for 64, and 32 is given", fakes.triton(), args(BLOCK=32))
        self.refused(r"compiled for \*fp32, and the array has elements f64", fakes.triton(), args(X=array.array("d", [1.0])))
        self.refused(r"expected an array for \*fp32, found int", fakes.triton(), args(X=5))
        self.refused("grid is not given", fakes.triton(), args(), None)

    def test_kernels(self):
        no = fakes.triton()
        del no.asm["ptx"]
        self.refused("has no PTX", no, args())
        self.refused("tensor descriptors", fakes.triton(signature={**fakes.SIGNATURE, "X": "tensordesc<fp32[16,16]>"}), args())
        self.refused("fewer than its signature", fakes.triton(signature={**fakes.SIGNATURE, "a": "i32", "b": "i32", "c": "i32"}), args(a=1, b=1, c=1))
        self.refused("tuple of 1; expected 2", fakes.triton(signature={"X": ("*fp32", "*fp32")}), {"X": (X,)})


if __name__ == "__main__":
    unittest.main()
