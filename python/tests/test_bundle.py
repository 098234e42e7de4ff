import array
import hashlib
import io
import json
import os
import struct
import tempfile
import unittest
import zipfile
from pathlib import Path

import tilescope
from tests import fakes
from tilescope import BundleError, Struct, unwritten

PTX = fakes.HEAD + """
.visible .entry add(
	.param .u64 add_param_0,
	.param .u64 add_param_1,
	.param .u32 add_param_2,
	.param .align 8 .b8 add_param_3[24]
)
{
	ret;
}
"""


def opened(content):
    """A bundle's description, and its members by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as z:
        members = {i.filename: z.read(i) for i in z.infolist()}
        return json.loads(members["bundle.json"]), members


def elements(member):
    """The header of a .npy, and its bytes after it."""
    n = struct.unpack_from("<H", member, 8)[0]
    return member[10:10 + n].decode(), member[10 + n:]


def add(x=None, y=None, n=3, s=None, **options):
    floats = array.array("f", [1, 2, 3]) if x is None else x
    out = unwritten(3, "f32") if y is None else y
    fields = Struct({0: floats, 8: (7, "i32"), 16: None}) if s is None else s
    return tilescope.bundle(PTX, [floats, out, n, fields], grid=2, block=(32, 2), **options)


class Format(unittest.TestCase):
    def test_description(self):
        d, members = opened(add(shared=64, cooperative=True, cluster=(2, 1, 1)))
        self.assertEqual(d["schema"], "tilescope.bundle/1")
        self.assertEqual((d["origin"], d["entry"]), ("ptx", "add"))
        self.assertEqual(d["launch"], {"grid": [2, 1, 1], "block": [32, 2, 1], "cluster": [2, 1, 1], "shared": 64, "cooperative": True})
        self.assertEqual(d["module"], hashlib.sha256(members["module.ptx"]).hexdigest())
        self.assertEqual([m["name"] for m in d["memory"]], ["arg0", "arg1"])
        self.assertEqual(d["memory"][0], {"name": "arg0", "dtype": "f32", "dims": [3], "before": [[0, 12]]})
        self.assertEqual(d["memory"][1], {"name": "arg1", "dtype": "f32", "dims": [3]})
        self.assertEqual(d["parameters"][0], {"name": "arg0", "value": "00" * 8, "pointers": [{"at": 0, "memory": 0}]})
        self.assertEqual(d["parameters"][2], {"name": "arg2", "value": "03000000", "type": "i32"})
        self.assertEqual(d["parameters"][3]["value"], "00" * 8 + "07000000" + "00" * 12)
        self.assertEqual(d["parameters"][3]["pointers"], [{"at": 0, "memory": 0}])
        self.assertEqual(sorted(members), ["before/arg0.npy", "bundle.json", "module.ptx"])
        head, data = elements(members["before/arg0.npy"])
        self.assertIn("'descr': '<f4'", head)
        self.assertIn("'shape': (3,)", head)
        self.assertEqual(data, struct.pack("<3f", 1, 2, 3))

    def test_same_launch_same_bytes(self):
        self.assertEqual(add(), add())

    def test_no_addresses(self):
        x = array.array("f", [1, 2, 3])
        address = struct.pack("<Q", x.buffer_info()[0]).hex()
        d, members = opened(add(x))
        self.assertNotIn(address, json.dumps(d))

    def test_written_whole_or_not(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.tsl")
            self.assertEqual(add(path=path), path)
            self.assertEqual(Path(path).read_bytes(), add())
            with self.assertRaises(BundleError):
                add(n="three", path=path)
            self.assertEqual(os.listdir(folder), ["x.tsl"])
            self.assertEqual(Path(path).read_bytes(), add())

    def test_after(self):
        out = unwritten(3, "f32")
        d, members = opened(add(y=out, after={"arg1": array.array("f", [2, 4, 6])}))
        self.assertEqual(d["memory"][1]["after"], [[0, 12]])
        self.assertEqual(elements(members["after/arg1.npy"])[1], struct.pack("<3f", 2, 4, 6))
        for name, value in (("arg2", array.array("f", [1])), ("arg1", array.array("f", [1])), ("arg1", 3), ("arg1", array.array("d", [1, 2, 3]))):
            with self.assertRaisesRegex(BundleError, f"after {name}"):
                add(y=out, after={name: value})


class Refusals(unittest.TestCase):
    def refused(self, pattern, *args, **options):
        with self.assertRaisesRegex(BundleError, pattern):
            tilescope.bundle(*args, **options)

    def test_launch(self):
        x, args = array.array("f", [1]), [None, None, 1, None]
        self.refused("grid is not given", PTX, [x, x, 1, Struct({})], block=1)
        self.refused("block is not given", PTX, [x, x, 1, Struct({})], grid=1)
        self.refused("whole numbers", PTX, [x, x, 1, Struct({})], grid=0, block=1)
        self.refused("whole numbers", PTX, [x, x, 1, Struct({})], grid="2x2", block=1)
        self.refused("whole numbers", PTX, [x, x, 1, Struct({})], grid=(1, 1, 1, 1), block=1)
        self.refused("address of 8 bytes, and the parameter has 24", PTX, args, grid=1, block=1)
        self.refused("no compiled kernel", object(), [], grid=1)
        self.refused("no compiled kernel", "not ptx", [], grid=1)
        self.refused("no kernel", fakes.HEAD + "// .entry\n.func f() { ret; }", [], grid=1)
        self.refused("2 kernels", fakes.CUTE, [], grid=1)
        self.refused("has no kernel missing", PTX, args, grid=1, entry="missing")

    def test_arguments(self):
        x = array.array("f", [1])
        s = Struct({})
        self.refused("3 arguments, and add takes 4", PTX, [x, x, 1], grid=1, block=1)
        self.refused("no argument for add_param_3", PTX, {"add_param_0": x, "add_param_1": x, "add_param_2": 1}, grid=1, block=1)
        self.refused("no such parameter", PTX, {"y": x}, grid=1, block=1)
        self.refused("the parameter has 4", PTX, [x, x, x, s], grid=1, block=1)
        self.refused("does not fit", PTX, [x, x, 1 << 40, s], grid=1, block=1)
        self.refused("is no number and no array", PTX, [x, x, "1", s], grid=1, block=1)
        self.refused(r"needs its type", PTX, [x, x, 1, Struct({0: 5})], grid=1, block=1)
        self.refused("unknown type", PTX, [x, x, 1, Struct({0: (5, "i31")})], grid=1, block=1)
        self.refused("ends at byte 28", PTX, [x, x, 1, Struct({20: x})], grid=1, block=1)
        self.refused("struct of 16 bytes", PTX, [x, x, 1, Struct({}, size=16)], grid=1, block=1)
        self.refused("not contiguous", PTX, [memoryview(array.array("f", [1, 2]))[::-1], x, 1, s], grid=1, block=1)
        self.refused("elements of type complex64", PTX, [fakes.array("complex64", [2], 8), x, 1, s], grid=1, block=1)
        self.refused("memory m: int is no array", PTX, [x, x, 1, s], grid=1, block=1, memory={"m": 3})

    def test_unwritten(self):
        with self.assertRaisesRegex(BundleError, "unknown element type"):
            unwritten(3, "f17")
        with self.assertRaisesRegex(BundleError, "extent -1"):
            unwritten((3, -1), "f32")


class Memory(unittest.TestCase):
    def test_shared_bytes_are_one_memory(self):
        whole = fakes.array("float16", [3, 4, 8], 2)
        rows = [fakes.Array(whole.owner, "float16", [4, 8], [16, 2], i * 64, whole) for i in range(3)]
        d, _ = opened(tilescope.bundle(PTX, [rows[0], whole, 1, Struct({0: rows[2], 8: rows[1]})], grid=1, block=1))
        self.assertEqual([(m["name"], m["dims"]) for m in d["memory"]], [("arg0", [3, 4, 8])])
        self.assertEqual(d["parameters"][0]["pointers"], [{"at": 0, "memory": 0, "dims": [4, 8], "strides": [8, 1]}])
        self.assertEqual([p["offset"] for p in d["parameters"][3]["pointers"]], [128, 64])

    def test_parts_apart_are_memories_of_their_own(self):
        whole = fakes.array("float32", [2, 128], 4)
        rows = [fakes.Array(whole.owner, "float32", [64], [4], i * 512, whole) for i in range(2)]
        d, members = opened(tilescope.bundle(PTX, [rows[0], rows[1], 1, Struct({})], grid=1, block=1))
        self.assertEqual([m["dims"] for m in d["memory"]], [[64], [64]])
        self.assertEqual(elements(members["before/arg1.npy"])[1], bytes((512 + i) & 0xFF for i in range(256)))

    def test_misaligned_stays_so(self):
        whole = fakes.array("uint8", [600], 1)
        part = fakes.Array(whole.owner, "uint8", [10], [1], 259, whole)
        d, members = opened(tilescope.bundle(PTX, [part, None, 1, Struct({})], grid=1, block=1))
        self.assertEqual(d["memory"][0]["dims"], [13])
        self.assertEqual(d["memory"][0]["before"], [[3, 10]])
        self.assertEqual(d["parameters"][0]["pointers"][0]["offset"], 3)
        self.assertEqual(elements(members["before/arg0.npy"])[1], bytes((259 + i) & 0xFF for i in range(10)))

    def test_rows_of_a_view_alone_are_kept(self):
        whole = fakes.array("float32", [4, 16], 4)
        left = fakes.Array(whole.owner, "float32", [4, 8], [64, 4], 0, whole)
        d, members = opened(tilescope.bundle(PTX, [left, None, 1, Struct({})], grid=1, block=1))
        self.assertEqual(d["memory"][0]["before"], [[0, 32], [64, 32], [128, 32], [192, 32]])
        self.assertEqual(d["memory"][0]["dims"], [(192 + 32) // 4])
        self.assertEqual(len(elements(members["before/arg0.npy"])[1]), 128)
        self.assertEqual(d["parameters"][0]["pointers"][0]["strides"], [16, 1])

    def test_permuted(self):
        a = fakes.array("float16", [2, 3, 4], 2)
        swapped = fakes.Array(a.owner, "float16", [3, 2, 4], [8, 24, 2], 0, a)
        d, _ = opened(tilescope.bundle(PTX, [swapped, None, 1, Struct({})], grid=1, block=1))
        self.assertEqual(d["memory"][0]["dims"], [2, 3, 4])
        self.assertEqual(d["parameters"][0]["pointers"][0]["dims"], [3, 2, 4])
        self.assertEqual(d["parameters"][0]["pointers"][0]["strides"], [4, 12, 1])

    def test_empty_is_null(self):
        d, _ = opened(tilescope.bundle(PTX, [unwritten((0, 3), "f32"), None, 1, Struct({0: unwritten(0, "f32")})], grid=1, block=1))
        self.assertEqual(d["memory"], [])
        self.assertNotIn("pointers", d["parameters"][0])

    def test_types_that_numpy_has_not(self):
        d, members = opened(tilescope.bundle(PTX, [fakes.array("bfloat16", [2], 2), fakes.array("float8_e4m3fn", [2], 1), 1, Struct({})], grid=1, block=1))
        self.assertEqual([m["dtype"] for m in d["memory"]], ["bf16", "e4m3"])
        self.assertIn("'<u2'", elements(members["before/arg0.npy"])[0])
        self.assertIn("'|u1'", elements(members["before/arg1.npy"])[0])

    def test_names(self):
        d, _ = opened(tilescope.bundle(PTX, [None, None, 1, Struct({})], grid=1, block=1,
                                       memory={"a/b": array.array("f", [1]), "1": array.array("f", [2]), "a b": array.array("f", [3])}))
        self.assertEqual([m["name"] for m in d["memory"]], ["a_b", "_1", "a_b.2"])


class Scalars(unittest.TestCase):
    def value(self, kind, size, x):
        text = fakes.HEAD + f".visible .entry f(\n\t.param .{kind}{size} f_param_0\n)\n{{\n\tret;\n}}\n"
        d, _ = opened(tilescope.bundle(text, [x], grid=1, block=1))
        return d["parameters"][0]["value"], d["parameters"][0].get("type")

    def test_values(self):
        for kind, size, x, want in (
            ("u", 32, -1, ("ffffffff", "i32")), ("u", 32, 0xFFFFFFFF, ("ffffffff", "u32")), ("f", 32, 1, ("0000803f", "f32")),
            ("b", 32, 0.5, ("0000003f", "f32")), ("f", 64, 0.5, ("000000000000e03f", "f64")), ("b", 16, 1.0, ("003c", "f16")),
            ("u", 8, True, ("01", "u8")), ("u", 64, 7, ("0700000000000000", "i64")),
        ):
            self.assertEqual(self.value(kind, size, x), want)

    def test_bfloat16(self):
        from tilescope._bundle import bfloat16

        for x, want in ((1.0, 0x3F80), (1.00390625, 0x3F80), (1.01171875, 0x3F82), (-2.0, 0xC000), (float("nan"), 0x7FFF), (float("inf"), 0x7F80)):
            self.assertEqual(struct.unpack("<H", bfloat16(x))[0], want, x)


if __name__ == "__main__":
    unittest.main()
