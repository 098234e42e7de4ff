"""Launches of kernels as files that tilescope opens.

    import tilescope
    tilescope.bundle(compiled, [q, k, v, tilescope.unwritten((4, 128, 64), "f16"), 0.125, 128], grid=(2, 4), path="attention.tsl")

writes the PTX, the geometry and the arguments of one launch of a kernel that Triton or CuTe DSL has compiled; `tilescope check
attention.tsl` executes it under every checker. Nothing here needs a GPU, and nothing but the standard library is imported unless an
argument brings it.
"""

from ._bundle import VERSION as __version__
from ._bundle import bundle
from ._executable import executable
from ._memory import Struct, unwritten
from ._ptx import BundleError

__all__ = ["BundleError", "Struct", "__version__", "bundle", "executable", "unwritten"]