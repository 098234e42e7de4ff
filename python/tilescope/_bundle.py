"""A launch, and the file that it becomes. The format is described in docs/bundle.md."""

import hashlib
import io
import json
import os
import re
import struct
import zipfile

from . import _cute, _dtype, _ptx, _triton
from ._memory import Memory, Struct
from ._ptx import BundleError

SCHEMA = "tilescope.bundle/1"
VERSION = "0.1.0"


class Launch:
    """A launch as it is written: PTX text and entry, geometry, and the parameters' values by name, in the kernel's order."""

    def __init__(self, origin, ptx, entry, versions):
        self.origin, self.ptx, self.entry, self.versions = origin, ptx, entry, versions
        self.grid, self.block, self.cluster, self.shared, self.cooperative = None, None, (1, 1, 1), 0, False
        self.parameters = []  # of Parameter
        self.memory = Memory()


class Parameter:
    """A parameter: its name, its bytes with addresses in them, the element type of a scalar, and where pointers are: (byte, address)."""

    def __init__(self, name, data, dtype="", pointers=(), view=None):
        self.name, self.data, self.dtype, self.pointers, self.view = name, data, dtype, tuple(pointers), view


def bundle(compiled, args, grid=None, path=None, *, block=None, cluster=None, shared=None, cooperative=None, entry=None, memory=None, after=None):
    """Writes one launch of a compiled kernel to path (a .tsl), and returns the path; without one, returns the file's bytes.

    compiled: what triton.compile, kernel.warmup(...) or kernel[grid](...) return; a function that cute.compile returned (compiled with
    --keep-ptx); or PTX, as text or as the path of a .ptx.
    args: the arguments, in order or by name. Arrays of NumPy, PyTorch, CuTe or the buffer protocol are memory, with their contents;
    tilescope.unwritten(shape, dtype) is memory for an output; None is a null pointer; numbers are scalars. For Triton those of the
    kernel, with or without its constexprs; for CuTe those of the compiled function; for PTX those of the entry, where a struct is a
    tilescope.Struct.
    grid: blocks, up to three numbers; for Triton also a function of the constexprs. A CuTe function launches its own grid.
    block, cluster, shared (dynamic bytes), cooperative, entry: where the compiled kernel does not say them.
    memory: further arrays by name, that pointers within arguments may lead to.
    after: the contents of arguments after the launch, by name, to compare outputs with.
    Raises BundleError where the launch cannot be written.
    """
    if _triton.recognise(compiled):
        launch = _triton.launch(Launch, Parameter, compiled, args, grid)
    elif _cute.recognise(compiled):
        launch = _cute.launch(Launch, Parameter, compiled, args, memory or {}, entry)
    else:
        launch = _plain(compiled, args, entry)
    for name, value in (memory or {}).items():
        if launch.memory.add(name, value) is None:
            raise BundleError(f"memory {name}: {type(value).__name__} is no array")
    given = {"grid": extent("grid", grid) if not callable(grid) else None, "block": extent("block", block), "cluster": extent("cluster", cluster),
             "shared": shared, "cooperative": cooperative}
    for key, value in given.items():
        if value is None:
            continue
        if key == "grid" and launch.grid is not None and launch.origin == "cute" and launch.grid != value:
            raise BundleError(f"grid {value}: the compiled function launches {launch.grid}")
        if not (key == "grid" and launch.grid is not None):
            setattr(launch, key, value)
    for key in ("grid", "block"):
        if getattr(launch, key) is None:
            raise BundleError(f"{key} is not given, and the compiled kernel does not say it")
    content = _file(launch, after or {})
    if path is None:
        return content
    path = os.fspath(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as f:
            f.write(content)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    return path


def extent(name, value):
    """Up to three numbers as three."""
    if value is None:
        return None
    try:
        numbers = (int(value),) if isinstance(value, int) else tuple(int(n) for n in value)
    except (TypeError, ValueError):
        raise BundleError(f"{name} {value!r}: expected up to three whole numbers") from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise BundleError(f"{name} {value!r}: expected up to three whole numbers from 1 on")
    return numbers + (1,) * (3 - len(numbers))


def _plain(compiled, args, entry):
    """A launch of PTX, whose arguments are the entry's parameters."""
    text = compiled
    if isinstance(compiled, os.PathLike) or isinstance(compiled, str) and "\n" not in compiled and compiled.endswith(".ptx"):
        with open(compiled, encoding="utf-8") as f:
            text = f.read()
    if not isinstance(text, str) or ".entry" not in text:
        raise BundleError(
            f"{type(compiled).__name__} is no compiled kernel: expected what triton.compile or cute.compile returns, or PTX")
    kernel = _ptx.only(text, entry)
    launch = Launch("ptx", text, kernel.name, {})
    launch.block = kernel.threads
    if isinstance(args, dict):
        known = [p.name for p in kernel.parameters]
        for name in args:
            if name not in known:
                raise BundleError(f"{name}: {kernel.name} has no such parameter (it has {', '.join(known)})")
        missing = [n for n in known if n not in args]
        if missing:
            raise BundleError(f"no argument for {', '.join(missing)}")
        args = [args[n] for n in known]
    if len(args) != len(kernel.parameters):
        raise BundleError(f"{len(args)} arguments, and {kernel.name} takes {len(kernel.parameters)}")
    for i, (p, value) in enumerate(zip(kernel.parameters, args)):
        short = re.sub(rf"^{re.escape(kernel.name)}_param_", "arg", p.name)
        launch.parameters.append(value_of(launch, short, p, value))
    return launch


def value_of(launch, name, p, value, dtype=None):
    """The parameter that a value is: p is its declaration in the PTX, dtype the element type of a scalar where it is known."""
    if isinstance(value, Struct):
        return _struct(launch, name, p, value)
    v = launch.memory.add(name, value)
    if v is not None:
        if p.size != 8:
            raise BundleError(f"{name}: memory is passed by its address of 8 bytes, and the parameter has {p.size}")
        if v.empty():
            return Parameter(name, bytes(8))
        return Parameter(name, bytes(8), pointers=[(0, v.address)], view=v)
    if value is None:
        if p.size != 8:
            raise BundleError(f"{name}: None is an address of 8 bytes, and the parameter has {p.size}")
        return Parameter(name, bytes(8))
    data, dtype = scalar(name, value, p.size, p.kind == "f", dtype)
    return Parameter(name, data, dtype)


def scalar(name, value, size, real, dtype=None):
    """A number's bytes, and its element type."""
    if hasattr(value, "item") and not isinstance(value, (int, float)):
        dtype = dtype or _dtype.named(getattr(value, "dtype", None))
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise BundleError(f"{name}: {type(value).__name__} is no number and no array")
    real = real or isinstance(value, float) or dtype in ("f16", "bf16", "f32", "f64")
    try:
        if real:
            dtype = dtype if _dtype.SIZES.get(dtype) == size else {2: "f16", 4: "f32", 8: "f64"}.get(size)
            if dtype == "bf16":
                return bfloat16(float(value)), dtype
            return struct.pack("<" + {"f16": "e", "f32": "f", "f64": "d"}[dtype], float(value)), dtype
        number = int(value)
        signed = number < 0 or number < 1 << (8 * size - 1)
        data = number.to_bytes(size, "little", signed=signed)
        usual = {1: "u8", 2: "i16", 4: "i32", 8: "i64"} if signed else {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
        return data, dtype if _dtype.SIZES.get(dtype) == size else usual.get(size, "")
    except (OverflowError, KeyError, struct.error):
        raise BundleError(f"{name}: {value!r} does not fit the parameter's {size} bytes") from None


def bfloat16(value):
    """The two bytes of the nearest bfloat16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return struct.pack("<H", 0x7FFF)
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def _struct(launch, name, p, value):
    """A struct's bytes: numbers with their types, and addresses of arrays."""
    data, pointers = bytearray(p.size), []
    if value.size is not None and value.size != p.size:
        raise BundleError(f"{name}: a struct of {value.size} bytes, and the parameter has {p.size}")
    for at, x in sorted(value.fields.items()):
        place = f"{name}+{at}"
        if isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], str):
            dtype = _dtype.named(x[1])
            if dtype is None:
                raise BundleError(f"{place}: unknown type {x[1]!r}")
            part, _ = scalar(place, x[0], _dtype.SIZES[dtype], dtype[0] in "fb", dtype)
        elif x is None:
            part = bytes(8)
        else:
            v = launch.memory.add(place, x)
            if v is None:
                raise BundleError(f"{place}: a number needs its type: ({x!r}, 'i32')")
            part = bytes(8)
            if not v.empty():
                pointers.append((at, v.address))
        if not 0 <= at <= p.size - len(part):
            raise BundleError(f"{place}: it ends at byte {at + len(part)}, and the parameter has {p.size}")
        data[at:at + len(part)] = part
    return Parameter(name, bytes(data), pointers=pointers)


def member_name(name, taken):
    """A name that memory may have in the file."""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:180]
    if not re.match(r"[A-Za-z_]", name):
        name = "_" + name
    n, out = 2, name
    while out in taken:
        out, n = f"{name}.{n}", n + 1
    taken.add(out)
    return out


def _file(launch, after):
    """The archive's bytes: the same launch gives the same."""
    text, sources = _ptx.portable(launch.ptx)
    module = text.encode()
    allocations, taken = launch.memory.allocations(), set()
    memory, members = [], []
    expected = _recorded(launch, allocations, after)
    for i, a in enumerate(allocations):
        dtype, dims = a.shape()
        name = member_name(a.name, taken)
        entry = {"name": name, "dtype": dtype, "dims": dims}
        size = a.hi - a.lo
        for key, (ranges, data) in (("before", a.before()), ("after", expected.get(i, (None, None)))):
            if ranges is None:
                continue
            entry[key] = ranges
            whole = ranges == [[0, size]]
            members.append((key, f"{key}/{name}.npy", npy(_dtype.NPY[dtype] if whole else "|u1", dims if whole else [len(data)], data)))
        memory.append(entry)
    members = [m[1:] for m in sorted(members, key=lambda m: m[0] == "after")]
    manifest = {
        "schema": SCHEMA, "origin": launch.origin,
        "versions": dict(sorted({**launch.versions, "tilescope": VERSION}.items())),
        "module": digest(module), "entry": launch.entry,
        "launch": {"grid": launch.grid, "block": launch.block, "cluster": launch.cluster, "shared": int(launch.shared),
                   "cooperative": bool(launch.cooperative)},
        "parameters": [_parameter(p, allocations) for p in launch.parameters],
        "memory": memory,
        "sources": [{"path": p, "sha256": digest(sources[p])} for p in sorted(sources)],
    }
    members = [("bundle.json", (json.dumps(manifest, indent=1) + "\n").encode()), ("module.ptx", module)] + members
    members += [("sources/" + p, sources[p]) for p in sorted(sources)]
    return archive(members)


def _parameter(p, allocations):
    """A parameter as the description has it: addresses become places in memory."""
    data, pointers = bytearray(p.data), []
    for at, address in sorted(p.pointers):
        for i, a in enumerate(allocations):
            if a.first <= address <= a.hi and (address < a.hi or not any(b.first == address for b in allocations)):
                break
        else:
            raise BundleError(f"{p.name}: the address at byte {at} leads to no memory of the launch")
        data[at:at + 8] = bytes(8)
        entry = {"at": at, "memory": i}
        if address > a.lo:
            entry["offset"] = address - a.lo
        shown = p.view or next((v for v in a.views if v.address == address), None)
        if shown is not None and (list(shown.dims) != a.shape()[1] or shown.dtype != a.shape()[0] or shown.span() != (a.lo, a.hi)) and shown.dims:
            entry["dims"], entry["strides"] = list(shown.dims), list(shown.strides)
        pointers.append(entry)
    out = {"name": p.name, "value": bytes(data).hex()}
    if p.dtype:
        out["type"] = p.dtype
    if pointers:
        out["pointers"] = pointers
    return out


def _recorded(launch, allocations, after):
    """What is known of allocations after the launch: ranges and their contents, by index."""
    out = {}
    for name, value in after.items():
        found = [(n, v) for n, v in launch.memory.named if n == name]
        if not found:
            raise BundleError(f"after {name}: no argument of that name is memory (there are {', '.join(n for n, _ in launch.memory.named)})")
        v, w = found[0][1], Memory().add(name, value)
        if w is None or w.read is None or w.dtype != v.dtype or w.dims != v.dims:
            raise BundleError(f"after {name}: expected an array {v.dtype}{list(v.dims)}")
        if v.dense() is None or v.strides != w.strides:
            raise BundleError(f"after {name}: expected an array with the argument's strides {list(v.strides)}, without gaps")
        i = next(i for i, a in enumerate(allocations) if v in a.views)
        lo, hi = v.span()
        a, b = w.span()
        if i in out:
            raise BundleError(f"after {name}: it shares memory with another argument that is given")
        out[i] = ([[lo - allocations[i].lo, hi - lo]], w.read(a, b - a))
    return out


def digest(content):
    return hashlib.sha256(content).hexdigest()


def npy(descr, dims, data):
    """An array in NumPy's format, version 1.0."""
    shape = ", ".join(str(d) for d in dims) + ("," if len(dims) == 1 else "")
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def archive(members):
    """A zip archive that depends on nothing but its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 0, 0
            z.writestr(info, content)
    return out.getvalue()
