"""Where the program is that a wheel installs with this package."""

import importlib.metadata
import os
import sys
import sysconfig

NAME = "tilescope.exe" if sys.platform == "win32" else "tilescope"


def executable():
    """Returns the path of the tilescope program that was installed with this package.

    Raises FileNotFoundError where the package was installed without it: from its source, or not at all.
    """
    for path in _candidates():
        if os.path.isfile(path):
            return os.path.abspath(path)
    raise FileNotFoundError(f"no {NAME} was installed with this package: install a wheel of tilescope, which has it")


def _candidates():
    """Paths that the program may have, the installer's own list first."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        installed = importlib.metadata.distribution("tilescope")
    except importlib.metadata.PackageNotFoundError:
        return
    if os.path.realpath(str(installed.locate_file(""))) != os.path.realpath(here):
        return  # that of another copy of the package
    for file in installed.files or ():
        if file.name == NAME:
            yield str(installed.locate_file(file))
    yield os.path.join(here, "bin", NAME)  # pip install --target, whose list names another place
    yield os.path.join(sysconfig.get_path("scripts"), NAME)
