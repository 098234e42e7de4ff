"""Launches of real kernels, by the packages that their users install, executed by tilescope. Run with no GPU:

  python3 -m venv v && v/bin/pip install triton numpy torch nvidia-cutlass-dsl flash-attn-4
  make test-python PYTHON=v/bin/python

A package that is not installed is named, and its tests are skipped.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

os.environ.update(
    CUTE_DSL_ARCH="sm_80",
    CUTE_DSL_KEEP_PTX="1",
    CUTE_DSL_LINEINFO="1",
    FLASH_ATTENTION_ARCH="sm_80",
    FLASH_ATTENTION_FAKE_TENSOR="1",
    FLASH_ATTENTION_NUM_SMS="132",
)
FOLDER = tempfile.mkdtemp()
os.environ["CUTE_DSL_DUMP_DIR"] = FOLDER

import tilescope  # noqa: E402 the variables have to be there before

BIN = os.environ.get("TILESCOPE_BIN", "tilescope")


def needs(*packages):
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def checked(path, *options):
    """The document of a check, and its exit code."""
    r = subprocess.run([BIN, "check", path, "--json", *options], capture_output=True, text=True)
    if r.returncode not in (0, 1):
        raise AssertionError(f"exit {r.returncode}: {r.stderr}")
    return json.loads(r.stdout), r.returncode


class Case(unittest.TestCase):
    def clean(self, path, expected, tolerance, name):
        """The launch is clean, and what it leaves is what NumPy computes."""
        import numpy as np

        dump = path + ".npz"
        d, code = checked(path, "--dump", dump)
        self.assertEqual((code, d["verdict"]), (0, "clean"), d["findings"])
        got = np.load(dump)[name].astype(np.float64).reshape(expected.shape)
        self.assertLess(float(np.abs(got - expected).max()), tolerance)
        return d

    def without_barriers(self, compiled, ptx, again):
        """Every barrier taken out alone: a race is found, or the barrier was not needed by happens-before."""
        found = 0
        places = [m.start() for m in re.finditer(r"(?m)^\s*bar\.sync", ptx)]
        for at in places:
            line = ptx[at : ptx.index(";", at) + 1]
            d, code = checked(again(compiled, ptx[:at] + ptx[at + len(line) :]))
            kinds = {f["kind"] for f in d["findings"] if f["severity"] == "error"}
            found += "race" in kinds
            if code == 0:
                whole, _ = checked(again(compiled, ptx))
                self.assertEqual([o["digest"] for o in d["outputs"]], [o["digest"] for o in whole["outputs"]])
        return len(places), found


@needs("triton", "numpy")
class Triton(Case):
    def compiled(self, kernel, signature, constants, **options):
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        source = ASTSource(kernel, {**signature, **{n: "constexpr" for n in constants}}, constexprs=constants)
        return triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4, **options})

    def path(self, name):
        return os.path.join(FOLDER, name + ".tsl")

    def test_softmax(self):
        import numpy as np
        from tests import triton_kernels

        c = self.compiled(
            triton_kernels.softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 256}
        )
        x = np.random.default_rng(0).standard_normal((6, 200)).astype(np.float32)
        e = np.exp(x - x.max(1, keepdims=True))
        write = lambda c, ptx: tilescope.bundle(  # noqa: E731
            c, [x, tilescope.unwritten(x.shape, "f32"), 200], grid=6, path=self.path("softmax")
        )
        d = self.clean(write(c, None), e / e.sum(1, keepdims=True), 1e-6, "y")
        self.assertEqual([a["name"] for a in d["args"]][:3], ["x", "y", "columns"])

        def again(c, ptx):
            c.asm = {"ptx": ptx}
            return write(c, None)

        barriers, races = self.without_barriers(c, c.asm["ptx"], again)
        self.assertGreater(races, 0, f"of {barriers} barriers")

    def test_findings_are_at_lines_of_python(self):
        import numpy as np
        from tests import triton_kernels

        c = self.compiled(
            triton_kernels.softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 256}
        )
        x = np.zeros((6, 200), np.float32)
        small = tilescope.unwritten((5, 200), "f32")
        d, code = checked(tilescope.bundle(c, [x, small, 200], grid=6, path=self.path("small")))
        f = d["findings"][0]
        self.assertEqual((code, f["kind"], f["variable"]), (1, "out-of-bounds", "y"))
        self.assertTrue(f["source"]["file"].endswith("triton_kernels.py"))
        with open(triton_kernels.__file__) as text:
            self.assertIn("tl.store(y", text.read().split("\n")[f["source"]["line"] - 1])

    def test_compiler_placed_barriers_are_called_so(self):
        import numpy as np
        from tests import triton_kernels

        c = self.compiled(
            triton_kernels.softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 256}
        )
        c.asm = {"ptx": c.asm["ptx"].replace("bar.sync", "// bar.sync")}
        d, code = checked(
            tilescope.bundle(
                c,
                [np.ones((6, 200), np.float32), tilescope.unwritten((6, 200), "f32"), 200],
                grid=6,
                path=self.path("races"),
            )
        )
        missing = [
            f["missing"]
            for f in d["findings"]
            if f["kind"] == "race" and not f["missing"].startswith("exclusive")
        ]
        self.assertTrue(
            code == 1
            and missing
            and all("the compiler should have placed" in m and "__sync" not in m for m in missing),
            missing,
        )

    def test_product_of_one_allocation(self):
        import numpy as np
        from tests import triton_kernels

        rng = np.random.default_rng(1)
        both = rng.standard_normal((2, 64, 64)).astype(np.float16)
        c = self.compiled(
            triton_kernels.product,
            {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"},
            {"BM": 32, "BN": 32, "BK": 32},
            num_stages=2,
        )
        path = tilescope.bundle(
            c,
            [both[0], both[1], tilescope.unwritten((64, 64), "f16"), 64, 64, 64],
            grid=lambda m: (64 // m["BM"], 64 // m["BN"]),
            path=self.path("product"),
        )
        self.clean(path, both[0].astype(np.float64) @ both[1].astype(np.float64), 0.05, "c")

    @needs("torch")
    def test_torch(self):
        import torch
        from tests import triton_kernels

        c = self.compiled(
            triton_kernels.product,
            {"a": "*bf16", "b": "*bf16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"},
            {"BM": 32, "BN": 32, "BK": 32},
            num_stages=3,
        )
        torch.manual_seed(0)
        a, b = [torch.randn(32, 64).bfloat16(), torch.randn(64, 32).bfloat16()]
        path = tilescope.bundle(
            c, [a, b, tilescope.unwritten((32, 32), "f16"), 32, 32, 64], grid=(1, 1), path=self.path("torch")
        )
        self.clean(path, (a.double() @ b.double()).numpy(), 0.05, "c")

    def init(self, folder, kernel, *options):
        """Executes init --triton of a kernel of triton_kernels.py; returns what it prints, and the bundle's path."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triton_kernels.py")
        out = os.path.join(folder, kernel)
        env = dict(os.environ, PATH=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
        command = [BIN, "init", "--trust", "--triton", f"{source}:{kernel}", "--out", out + ".yaml", *options]
        r = subprocess.run(command, capture_output=True, text=True, env=env)
        self.assertEqual(r.returncode, 0, r.stderr)
        r2 = subprocess.run([BIN, "run", out + ".yaml", "--inputs", out + ".tsl"], capture_output=True, text=True)
        self.assertEqual(r2.returncode, 0, r2.stdout + r2.stderr)
        return r.stdout, out + ".tsl"

    def test_init_from_the_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            args = ["x=randn:f32[512]", "y=unwritten:f32[512]", "n=512", "factor=2.5"]
            printed, path = self.init(folder, "scaled", "--grid", "4", *(w for a in args for w in ("--arg", a)))
            self.assertIn("of the 2 configurations that autotune has, the first is compiled", printed)
            d, code = checked(path)
            got = (code, d["verdict"], d["outputs"][1]["written"], d["launch"]["block"])
            self.assertEqual(got, (0, "clean", 512, [64, 1, 1]))

    def test_init_specialises_as_a_launch_does(self):
        import numpy as np

        with tempfile.TemporaryDirectory() as folder:
            args = ["x=randn:f32[100]", "y=unwritten:f32[100]", "bias=null", "n=100", "step=1", "BLOCK=64"]
            _, path = self.init(folder, "rectified", "--grid", "2", *(w for a in args for w in ("--arg", a)))
            with np.load(path) as arrays:
                want = np.maximum(arrays["before/x"], 0).astype(np.float64)
            d = self.clean(path, want, 1e-7, "y")
            self.assertFalse({"bias", "step"} & {a["name"] for a in d["args"]})


@needs("cutlass", "numpy", "torch")
class Cute(Case):
    def compiled(self, dynamic):
        import cutlass.cute as cute
        import torch
        from cutlass.cute.runtime import from_dlpack
        from tests import cute_kernels

        x, y = torch.arange(300, dtype=torch.float32), torch.zeros(300)
        tensors = [from_dlpack(t, assumed_align=16) for t in (x, y)]
        if dynamic:
            tensors = [t.mark_layout_dynamic() for t in tensors]
        return cute.compile(cute_kernels.reverse, *tensors, 256, 2.0, options="--keep-ptx"), x, y, tensors

    def test_reverse(self):
        import numpy as np

        for dynamic in (False, True):
            c, x, y, tensors = self.compiled(dynamic)
            path = tilescope.bundle(
                c, [*tensors, 256, 0.5], path=os.path.join(FOLDER, f"reverse{dynamic}.tsl"), memory={}
            )
            want = np.zeros(300)
            want[:256] = np.arange(256).reshape(2, 128)[:, ::-1].reshape(-1) * 0.5
            d = self.clean(path, want, 1e-6, "y")
            self.assertEqual(
                (d["launch"]["grid"], d["launch"]["block"], d["launch"]["shared"]),
                ([2, 1, 1], [128, 1, 1], 512),
            )

    def test_barriers_of_the_source_are_not_the_compilers(self):
        c, x, y, tensors = self.compiled(False)

        class Without:
            def __getattr__(self, name):
                return getattr(c, name)

            @property
            def __ptx__(self):
                return re.sub(r"(?m)^\s*(barrier|bar)\.sync[^;]*;", "", c.__ptx__)

        d, code = checked(
            tilescope.bundle(Without(), [*tensors, 256, 0.5], path=os.path.join(FOLDER, "cute_race.tsl"))
        )
        missing = [f["missing"] for f in d["findings"] if f["kind"] == "race"]
        self.assertTrue(
            code == 1 and missing and not any("the compiler" in m for m in missing), d["findings"]
        )


@needs("flash_attn", "cutlass", "torch", "numpy")
class Flash(Case):
    """FlashAttention's own forward kernel in CuTe DSL."""

    def test_forward(self):
        import numpy as np
        import torch
        from flash_attn.cute import interface
        from torch._subclasses.fake_tensor import FakeTensorMode

        for causal in (False, True):
            before = set(interface._flash_attn_fwd.compile_cache.cache)
            with FakeTensorMode():
                q, k, v = [torch.empty(1, 128, 4, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
                interface.flash_attn_func(q, k, v, causal=causal)
            cache = interface._flash_attn_fwd.compile_cache.cache
            compiled = next(c for key, c in cache.items() if key not in before)
            torch.manual_seed(0)
            q, k, v = [torch.randn(1, 128, 4, 64, dtype=torch.float16) for _ in range(3)]
            path = tilescope.bundle(
                compiled,
                {
                    "mQ": q,
                    "mK": k,
                    "mV": v,
                    "mO": tilescope.unwritten((1, 128, 4, 64), "f16"),
                    "softmax_scale": 0.125,
                },
                path=os.path.join(FOLDER, f"flash{causal}.tsl"),
            )
            s = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double()) * 0.125
            if causal:
                s = s.masked_fill(torch.ones(128, 128).triu(1).bool(), -np.inf)
            want = torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v.double())
            d = self.clean(path, want.numpy(), 0.01, "mO")
            self.assertEqual(
                d["args"][0], {"name": "mQ", "dtype": "struct", "dims": [48], "source": "bundle"}
            )


if __name__ == "__main__":
    unittest.main()
