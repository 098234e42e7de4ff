import unittest

import tilescope
from tests import fakes
from tests.test_bundle import opened
from tilescope import BundleError

LAUNCH = {
    "kernel": "kernel_a", "grid": (4, 2, 1), "block": (64, 2, 1), "shared": 1024,
    # a struct of an address, two extents, and padding that has what was on the stack; an address; a number
    "parameters": [["p0", bytes([8, 0, 0, 0, 16, 0, 0, 0]), b"\xde\xad\xbe\xef\xde\xad\xbe\xef"], ["p1"], [b"\x00\x00\x00\x40"]],
}


def bundled(host, args, ffi=False, **options):
    with fakes.cutlass(host):
        return tilescope.bundle(fakes.Function(host, ffi, **{k: options.pop(k) for k in ("ptx", "extra") if k in options}), args, **options)


def arrays():
    return [fakes.array("float32", [8, 16], 4), fakes.array("float32", [8, 16], 4), 2.0]


class Launch(unittest.TestCase):
    def check(self, d):
        self.assertEqual((d["origin"], d["entry"]), ("cute", "kernel_a"))
        self.assertEqual(d["launch"], {"grid": [4, 2, 1], "block": [64, 2, 1], "cluster": [1, 1, 1], "shared": 1024, "cooperative": False})
        self.assertEqual([m["name"] for m in d["memory"]], ["x", "y"])
        self.assertEqual(d["parameters"][0], {
            "name": "x", "value": "00" * 8 + "0800000010000000" + "00" * 8, "pointers": [{"at": 0, "memory": 0}]})
        self.assertEqual(d["parameters"][2], {"name": "arg2", "value": "00000040", "type": "f32"})

    def test_recorded(self):
        self.check(opened(bundled(fakes.Host([LAUNCH]), arrays()))[0])

    def test_by_name(self):
        self.check(opened(bundled(fakes.Host([LAUNCH]), dict(zip(("x", "y", "factor"), arrays()))))[0])

    def test_tvm_ffi(self):
        for args in (arrays(), dict(zip(("x", "y", "factor"), arrays()))):
            host = fakes.Host([LAUNCH])
            self.check(opened(bundled(host, args, ffi=True))[0])
            self.assertEqual(host.kinds, [7, 7, 3])

    def test_same_launch_same_bytes(self):
        other = {**LAUNCH, "parameters": [["p0", bytes([8, 0, 0, 0, 16, 0, 0, 0]), b"\x01\x02\x03\x04\x05\x06\x07\x08"]] + LAUNCH["parameters"][1:]}
        self.assertEqual(bundled(fakes.Host([LAUNCH]), arrays()), bundled(fakes.Host([other]), arrays()))

    def test_attributes(self):
        launch = {**LAUNCH, "attributes": [(6, [1]), (4, [2, 1, 1]), (2, [1])]}
        d, _ = opened(bundled(fakes.Host([launch]), arrays()))
        self.assertEqual((d["launch"]["cluster"], d["launch"]["cooperative"]), ([2, 1, 1], True))

    def test_inside_an_array(self):
        x, y, factor = arrays()
        launch = {**LAUNCH, "parameters": [[(x.__array_interface__["data"][0] + 64).to_bytes(8, "little"), bytes(16)]] + LAUNCH["parameters"][1:]}
        d, _ = opened(bundled(fakes.Host([launch]), [x, y, factor]))
        self.assertEqual(d["parameters"][0]["pointers"][0], {"at": 0, "memory": 0, "offset": 64})

    def test_several_launches(self):
        other = {**LAUNCH, "kernel": "kernel_b", "parameters": []}
        with self.assertRaisesRegex(BundleError, "2 kernels, choose one with entry=: kernel_a, kernel_b"):
            bundled(fakes.Host([LAUNCH, other]), arrays())
        d, _ = opened(bundled(fakes.Host([LAUNCH, other]), arrays(), entry="kernel_b"))
        self.assertEqual((d["entry"], d["parameters"], d["memory"]), ("kernel_b", [], []))
        with self.assertRaisesRegex(BundleError, "does not launch kernel_c"):
            bundled(fakes.Host([LAUNCH]), arrays(), entry="kernel_c")


class Refusals(unittest.TestCase):
    def test_refused(self):
        for pattern, host, args, options in (
            ("kept no PTX", fakes.Host([LAUNCH]), arrays(), {"ptx": None}),
            ("launches nothing", fakes.Host([]), arrays(), {}),
            (r"grid \(1, 1, 1\): the compiled function launches", fakes.Host([LAUNCH]), arrays(), {"grid": 1}),
            ("kernel_z, which its PTX does not have", fakes.Host([{**LAUNCH, "kernel": "kernel_z"}]), arrays(), {}),
            ("refused its arguments: expected 3 arguments, found 1", fakes.Host([LAUNCH]), arrays()[:1], {}),
            ("TypeError: Mismatched type", fakes.Host([LAUNCH], "Mismatched type"), arrays(), {"ffi": True}),
            ("no such argument", fakes.Host([LAUNCH]), {"z": 1}, {"ffi": True}),
            ("str is no argument that can be recorded", fakes.Host([LAUNCH]), arrays()[:2] + ["two"], {"ffi": True}),
            ("calls _cudaUnknown, which cannot be recorded", fakes.Host([LAUNCH]), arrays(), {"extra": "_cudaUnknown(!llvm.ptr) -> i32"}),
        ):
            with self.assertRaisesRegex(BundleError, pattern):
                bundled(host, args, **options)


if __name__ == "__main__":
    unittest.main()
