"""Kernels that Triton compiled: PTX and metadata of a CompiledKernel, arguments by the kernel's signature."""

import os
import sys

from . import _dtype, _ptx
from ._memory import unwritten
from ._ptx import BundleError


def recognise(compiled):
    asm = getattr(compiled, "asm", None)
    return asm is not None and hasattr(asm, "keys") and getattr(compiled, "metadata", None) is not None


def field(metadata, name, default=None):
    """A field of the metadata, which is a named tuple, or in older releases a dictionary."""
    if isinstance(metadata, dict):
        return metadata.get(name, default)
    return getattr(metadata, name, default)


def launch(Launch, Parameter, compiled, args, grid):
    from ._bundle import extent, value_of

    if "ptx" not in compiled.asm:
        raise BundleError(f"the compiled kernel has no PTX (it has {', '.join(compiled.asm.keys())})")
    meta, text = compiled.metadata, compiled.asm["ptx"]
    if isinstance(text, bytes):
        text = text.decode()
    text = located(text, getattr(compiled, "src", None))
    kernel = _ptx.only(text, field(meta, "name") or getattr(compiled, "name", None))
    out = Launch("triton", text, kernel.name, versions(meta))
    out.block = kernel.threads or (32 * int(field(meta, "num_warps", 4)), 1, 1)
    out.shared = int(field(meta, "shared", 0) or 0)
    out.cooperative = bool(field(meta, "launch_cooperative_grid", False))
    names, types, constants = signature(compiled)
    given = bind(names, types, constants, args)
    if callable(grid):
        grid = grid({**constants, **given})
    out.grid = extent("grid", grid)
    ctas = int(field(meta, "num_ctas", 1) or 1)
    if out.grid is not None and ctas > 1:  # Triton's grid counts clusters
        out.cluster = tuple(field(meta, "cluster_dims", None) or (ctas, 1, 1))
        out.grid = tuple(g * c for g, c in zip(out.grid, out.cluster))
    declared = list(kernel.parameters)
    for name in names:
        for path, kind, value in flat(name, types[name], given.get(name)):
            if kind == "constexpr":
                continue
            if kind.startswith(("tensordesc", "nvTmaDesc")):
                raise BundleError(f"{path}: tensor descriptors are not supported; pass a pointer")
            if not declared:
                raise BundleError(f"{path}: {kernel.name} has {len(kernel.parameters)} parameters, fewer than its signature")
            p = declared.pop(0)
            if kind.startswith("*"):
                checked(path, kind, value)
            out.parameters.append(value_of(out, path, p, value, None if kind.startswith("*") else _dtype.named(kind)))
    scratch(out, declared, meta, value_of)
    return out


def located(text, src):
    """The PTX with the kernel's own file where debug lines name one that is gone. Triton's cache does not know paths: it returns what
    was compiled from a copy of the same source at another place."""
    kernel = getattr(getattr(src, "fn", None), "fn", None)
    own = getattr(getattr(kernel, "__code__", None), "co_filename", None)
    if not own or not os.path.isfile(own):
        return text

    def gone(name):
        return os.path.basename(name) == os.path.basename(own) and not os.path.exists(name)

    return _ptx.FILE.sub(lambda m: m[1] + (own if gone(m[2]) else m[2]) + m[3], text)


def versions(meta):
    out = {}
    triton = sys.modules.get("triton")
    version = field(meta, "triton_version") or getattr(triton, "__version__", None)
    if version:
        out["triton"] = str(version)
    return out


def signature(compiled):
    """The names of the kernel's arguments in order, their types by name, and the constexprs' values."""
    src = compiled.src
    types = dict(src.signature)
    fn = getattr(src, "fn", None)
    names = list(getattr(fn, "arg_names", None) or [])
    if names and any(isinstance(k, int) for k in types):  # releases before 3.3 number them
        types = {names[k] if isinstance(k, int) else k: v for k, v in types.items()}
    names = [n for n in names if n in types or n in constants_of(src, names)] or list(types)
    constants = constants_of(src, names)
    for n in names:
        if n not in types:
            types[n] = "constexpr"
    return names, types, constants


def constants_of(src, names):
    """Values of constexprs by name; they are keyed by name, by index, or by a path of indices."""
    out = {}
    for key, value in dict(getattr(src, "constants", None) or {}).items():
        if isinstance(key, tuple):
            if len(key) != 1:
                continue
            key = key[0]
        if isinstance(key, int):
            if key >= len(names):
                continue
            key = names[key]
        out[key] = value
    return out


def bind(names, types, constants, args):
    """The arguments by name. Constexprs may be given or not."""
    if isinstance(args, dict):
        unknown = [n for n in args if n not in names]
        if unknown:
            raise BundleError(f"{unknown[0]}: the kernel has no such argument (it has {', '.join(names)})")
        given = dict(args)
    else:
        args = list(args)
        passed = [n for n in names if types[n] != "constexpr"]
        if len(args) == len(names):
            passed = names
        elif len(args) != len(passed):
            raise BundleError(f"{len(args)} arguments; expected {len(passed)} ({', '.join(passed)}), or with the constexprs {len(names)}")
        given = dict(zip(passed, args))
    missing = [n for n in names if types[n] != "constexpr" and n not in given]
    if missing:
        raise BundleError(f"no argument for {', '.join(missing)}")
    for n, value in constants.items():
        if n in given and isinstance(given[n], (int, float, str)) and given[n] != value:
            raise BundleError(f"{n}: the kernel was compiled for {value!r}, and {given[n]!r} is given")
    return given


def flat(name, kind, value):
    """An argument's parts: a tuple has several parameters."""
    if isinstance(kind, (tuple, list)):
        value = list(value) if isinstance(value, (tuple, list)) else [None] * len(kind)
        if len(value) != len(kind):
            raise BundleError(f"{name}: a tuple of {len(value)}; expected {len(kind)}")
        for i, (k, v) in enumerate(zip(kind, value)):
            yield from flat(f"{name}.{i}", k, v)
        return
    yield name, str(kind), value


def checked(name, kind, value):
    """An array's elements are those that the kernel was compiled for."""
    from ._memory import view

    v, want = view(value, name), _dtype.named(kind.lstrip("*k"))
    if v is None and value is not None:
        raise BundleError(f"{name}: expected an array for {kind}, found {type(value).__name__}")
    if v is not None and want is not None and _dtype.SIZES[v.dtype] != _dtype.SIZES[want]:
        raise BundleError(f"{name}: the kernel was compiled for {kind}, and the array has elements {v.dtype}")


def scratch(out, declared, meta, value_of):
    """The parameters that Triton adds: scratch memory for all programs, then for its profiler; null where none is used."""
    for p, kind in zip(declared, ("global_scratch", "profile_scratch")):
        size = int(field(meta, kind + "_size", 0) or 0)
        value = None
        if size:
            blocks = 1
            for n in out.grid or (1,):
                blocks *= n
            value = unwritten((blocks * size,), "u8")
        out.parameters.append(value_of(out, kind, p, value))
    if len(declared) > 2:
        raise BundleError(f"{out.entry} has {len(declared)} parameters after its signature's; at most 2 are known")
