import os
import tempfile
import unittest
from pathlib import Path

from tests import fakes
from tilescope import BundleError, _ptx


class Entries(unittest.TestCase):
    def test_parameters(self):
        e = _ptx.only(fakes.TRITON)
        self.assertEqual((e.name, e.threads), ("scale_rows", (128, 1, 1)))
        self.assertEqual([(p.size, p.kind, p.array) for p in e.parameters],
                         [(8, "u", False), (8, "u", False), (4, "f", False), (4, "u", False), (8, "u", False), (8, "u", False)])
        a = _ptx.only(fakes.CUTE, "kernel_a")
        self.assertEqual([(p.size, p.array) for p in a.parameters], [(24, True), (8, False), (4, False)])
        self.assertEqual(a.threads, (64, 2, 1))
        self.assertEqual(_ptx.only(fakes.CUTE, "kernel_b").parameters, [])

    def test_parameter_that_is_not_understood(self):
        with self.assertRaisesRegex(BundleError, "cannot be read"):
            _ptx.entries(".visible .entry f(\n.param .texref t\n)\n{ ret; }")

    def test_bytes_read(self):
        read = _ptx.bytes_read(fakes.CUTE, _ptx.only(fakes.CUTE, "kernel_a"))
        self.assertEqual(read, {"kernel_a_param_0": set(range(16)), "kernel_a_param_1": set(range(8)), "kernel_a_param_2": set()})
        taken = fakes.CUTE.replace("ld.param.b64 %rd2", "mov.b64 %rd9, kernel_a_param_0;\n\tld.param.b64 %rd2")
        self.assertIsNone(_ptx.bytes_read(taken, _ptx.only(taken, "kernel_a"))["kernel_a_param_0"])


class Files(unittest.TestCase):
    def test_sources_by_names_that_mean_the_same_everywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            packages = Path(folder, "lib", "site-packages", "triton")
            packages.mkdir(parents=True)
            for path in (Path(folder, "mine.py"), Path(folder, "lib", "mine.py"), packages / "core.py"):
                path.write_text(f"# {path}\n")
            secret = Path(folder, "secret.txt")
            secret.write_text("key")
            files = [Path(folder, "mine.py"), Path(folder, "lib", "mine.py"), packages / "core.py", secret, Path(folder, "gone.py")]
            text = "".join(f'\t.file\t{i} "{f}"\n' for i, f in enumerate(files))
            new, sources = _ptx.portable(text)
            self.assertEqual(list(sources), ["mine.py", "mine-2.py", "triton/core.py"])
            self.assertNotIn(folder, new)
            self.assertIn('.file\t3 "secret.txt"', new)
            self.assertIn(b"site-packages", sources["triton/core.py"])

    def test_of_the_working_directory(self):
        here = os.getcwd()
        self.assertEqual(_ptx.short(os.path.join(here, "a", "b.py")), "a/b.py")
        self.assertEqual(_ptx.short("C:\\work\\k.cu"), "k.cu")
        self.assertEqual(_ptx.short("../../x/..//y.py"), "y.py")
        self.assertEqual(_ptx.short(""), "source")

    def test_debug_info_is_left_out(self):
        new, _ = _ptx.portable(fakes.TRITON % "/home/me/k.py")
        self.assertNotIn("DW_AT_comp_dir", new)
        self.assertNotIn("/home/me", new)
        self.assertIn(".debug_str", new)
        self.assertIn(".loc	1 7 0", new)
        self.assertIn(".entry scale_rows", new)


if __name__ == "__main__":
    unittest.main()
