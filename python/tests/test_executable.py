import os
import tempfile
import unittest
from unittest import mock

from tilescope import _executable


class Installed:
    """The metadata of an installed package, below a folder."""

    def __init__(self, folder, files):
        self.folder, self.files = folder, [_File(f) for f in files]

    def locate_file(self, name):
        return os.path.join(self.folder, str(name))


class _File(str):
    @property
    def name(self):
        return os.path.basename(self)


class TestExecutable(unittest.TestCase):
    here = os.path.dirname(os.path.dirname(os.path.abspath(_executable.__file__)))

    def find(self, installed):
        with mock.patch("importlib.metadata.distribution", return_value=installed):
            return _executable.executable()

    def test_listed(self):
        """The installer's list says where the program is."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, _executable.NAME)
            open(path, "w").close()
            found = self.find(Installed(self.here, [os.path.relpath(path, self.here)]))
            self.assertTrue(os.path.samefile(found, path))

    def test_without(self):
        """A package that was installed without the program says so; another copy's program is not taken."""
        with mock.patch("sysconfig.get_path", return_value=os.path.join(self.here, "nowhere")):
            with self.assertRaisesRegex(FileNotFoundError, "install a wheel"):
                self.find(Installed(self.here, []))
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, _executable.NAME), "w").close()
            with self.assertRaises(FileNotFoundError):
                self.find(Installed(folder, [_executable.NAME]))

    def test_target(self):
        """pip install --target puts the program into bin next to the package."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "bin"))
            path = os.path.join(folder, "bin", _executable.NAME)
            open(path, "w").close()
            with mock.patch.object(_executable, "__file__", os.path.join(folder, "tilescope", "_executable.py")):
                self.assertEqual(self.find(Installed(folder, ["../../bin/" + _executable.NAME])), path)


