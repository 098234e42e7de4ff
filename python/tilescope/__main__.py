"""python -m tilescope: the program."""

import os
import subprocess
import sys

from ._executable import executable


def main():
    """Replaces this process by the program; on Windows, which cannot, waits for it."""
    try:
        argv = [executable(), *sys.argv[1:]]
    except FileNotFoundError as e:
        sys.exit(f"tilescope: {e}")
    if os.name == "posix":
        os.execv(argv[0], argv)
    sys.exit(subprocess.run(argv).returncode)


if __name__ == "__main__":
    main()
