"""The memory that arguments lead to: arrays become allocations, and addresses places in them."""

import ctypes
import itertools

from . import _dtype
from ._ptx import BundleError

# An address keeps its place relative to this, so that what is misaligned stays so.
ALIGNMENT = 256
# The most ranges that a memory's contents are cut into.
MAX_RANGES = 1 << 14


class View:
    """Memory as an argument shows it: elements of a dtype at an address, by extents and strides (in elements). storage is where the
    allocation begins that it lies in, and read(address, n) its bytes; None: nobody has written it."""

    def __init__(self, address, dtype, dims, strides, storage=None, read=None, keep=None):
        self.address, self.dtype, self.dims, self.strides = address, dtype, tuple(dims), tuple(strides)
        self.storage = address if storage is None else storage
        self.read, self.keep = read, keep

    def span(self):
        """The first byte of its elements, and the one after the last."""
        size, lo, hi = _dtype.SIZES[self.dtype], self.address, self.address
        for d, s in zip(self.dims, self.strides):
            reach = (d - 1) * s * size
            lo, hi = lo + min(reach, 0), hi + max(reach, 0)
        return lo, hi + size

    def empty(self):
        return 0 in self.dims

    def dense(self):
        """The extents in the order of the memory, where the elements fill it without gaps; else None."""
        order = sorted((i for i in range(len(self.dims)) if self.dims[i] != 1), key=lambda i: -self.strides[i])
        step = 1
        for i in reversed(order):
            if self.strides[i] != step:
                return None
            step *= self.dims[i]
        if order == sorted(order):
            return list(self.dims) or [1]
        return [self.dims[i] for i in order]

    def intervals(self):
        """The stretches of bytes that its elements are, ascending and apart from each other; one for all of them where they are too many."""
        if self.dense() is not None:
            return [self.span()]
        size, run = _dtype.SIZES[self.dtype], 1
        axes = sorted(range(len(self.dims)), key=lambda i: abs(self.strides[i]))
        while axes and (self.dims[axes[0]] == 1 or self.strides[axes[0]] == run):
            run *= self.dims[axes.pop(0)]
        count = 1
        for i in axes:
            count *= self.dims[i]
        if count > MAX_RANGES:
            return [self.span()]
        starts = sorted({
            sum(k * self.strides[i] for k, i in zip(at, axes)) for at in itertools.product(*(range(self.dims[i]) for i in axes))
        })
        return merged([(self.address + s * size, self.address + (s + run) * size) for s in starts])


def merged(stretches):
    """Stretches in ascending order, those that touch or overlap made one."""
    out = []
    for lo, hi in sorted(stretches):
        if out and lo <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], hi))
        else:
            out.append((lo, hi))
    return out


class Struct:
    """A parameter of several fields: {byte: value}, each value an array, None, or a number with its type: (1024, "i32")."""

    def __init__(self, fields, size=None):
        self.fields, self.size = dict(fields), size


def unwritten(shape, dtype):
    """Memory that nobody has written before the launch: an output. Reading it is a finding."""
    name = _dtype.named(dtype)
    if name is None:
        raise BundleError(f"unwritten: unknown element type {dtype!r} (expected {' '.join(_dtype.SIZES)})")
    dims = (shape,) if isinstance(shape, int) else tuple(int(d) for d in shape)
    n = _dtype.SIZES[name]
    for d in dims:
        if d < 0:
            raise BundleError(f"unwritten: extent {d}")
        n *= d
    place = ctypes.create_string_buffer(max(n, 1) + ALIGNMENT)  # an address that nothing else has
    address = -(-ctypes.addressof(place) // ALIGNMENT) * ALIGNMENT
    return View(address, name, dims, row_major(dims), keep=place)


def row_major(dims):
    out, step = [], 1
    for d in reversed(dims):
        out.append(step)
        step *= max(d, 1)
    return tuple(reversed(out))


def view(value, name="argument"):
    """The memory of an array: of PyTorch, NumPy, CuTe, or anything with the buffer protocol. None where the value is no array."""
    if isinstance(value, View):
        return value
    kind = type(value)
    if hasattr(value, "untyped_storage") and hasattr(value, "data_ptr"):
        return _torch(value, name)
    if hasattr(value, "__array_interface__") and hasattr(value, "dtype") and getattr(value, "shape", None) is not None and hasattr(value, "base"):
        return _numpy(value, name)
    if hasattr(value, "element_type") and hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return _cute(value, name)
    if isinstance(value, (bytes, bytearray, memoryview)) or kind.__module__ in ("array", "ctypes") or isinstance(value, ctypes.Array):
        return _buffer(value, name)
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        raise BundleError(f"{name}: arrays of {kind.__module__}.{kind.__name__} are not read; give a NumPy array or a PyTorch tensor")
    return None


def _element(dtype, name):
    found = _dtype.named(dtype)
    if found is None:
        raise BundleError(f"{name}: elements of type {dtype} are not supported (expected {' '.join(_dtype.SIZES)})")
    return found


def _torch(t, name):
    kind = type(t)
    if kind.__name__ == "FakeTensor" or t.device.type == "meta":
        raise BundleError(f"{name}: a tensor without data; give an array, or tilescope.unwritten(shape, dtype)")
    dtype = _element(t.dtype, name)
    storage = t.untyped_storage()
    base = storage.data_ptr()
    if t.device.type == "cpu":
        read = ctypes.string_at
    else:
        def read(address, n):
            import torch

            whole = torch.empty(0, dtype=torch.uint8, device=t.device).set_(storage)
            return whole[address - base:address - base + n].cpu().numpy().tobytes()
    return View(t.data_ptr(), dtype, t.shape, t.stride(), base, read, t)


def _numpy(a, name):
    dtype = _element(a.dtype.name, name)
    if a.dtype.byteorder == ">":
        raise BundleError(f"{name}: the elements are big endian")
    size = _dtype.SIZES[dtype]
    if any(s % size for s in a.strides):
        raise BundleError(f"{name}: strides {a.strides} are no multiples of the element's {size} bytes")
    owner = a
    while hasattr(owner.base, "__array_interface__"):
        owner = owner.base
    address = a.__array_interface__["data"][0]
    base = min(owner.__array_interface__["data"][0], address)
    return View(address, dtype, a.shape, [s // size for s in a.strides], base, ctypes.string_at, a)


def _cute(t, name):
    if "gmem" in str(getattr(t, "memspace", "")):
        raise BundleError(f"{name}: a CuTe tensor in a GPU's memory; name the PyTorch tensor that it is made of in memory=")
    element = t.element_type
    dtype = _element(getattr(element, "__name__", element), name)
    shape, stride = tuple(t.shape), t.stride
    stride = tuple(stride() if callable(stride) else stride)
    return View(t.data_ptr, dtype, shape, stride, None, ctypes.string_at, t)


def _buffer(b, name):
    m = memoryview(b)
    if not m.c_contiguous:
        raise BundleError(f"{name}: the memory is not contiguous")
    formats = {"B": "u8", "b": "i8", "?": "u8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "Q": "u64", "q": "i64", "e": "f16", "f": "f32",
               "d": "f64", "L": "u64" if m.itemsize == 8 else "u32", "l": "i64" if m.itemsize == 8 else "i32"}
    dtype = formats.get(m.format.lstrip("@=<"))
    if dtype is None:
        raise BundleError(f"{name}: elements of format {m.format!r} are not supported")
    if m.readonly:
        place = ctypes.create_string_buffer(m.tobytes(), max(m.nbytes, 1))
        address = ctypes.addressof(place)
    else:
        place = (ctypes.c_char * max(m.nbytes, 1)).from_buffer(m) if m.nbytes else ctypes.create_string_buffer(1)
        address = ctypes.addressof(place)
    dims = m.shape or (1,)
    return View(address, dtype, dims, row_major(dims), None, ctypes.string_at, (b, place))


class Allocation:
    """Memory of the bundle: bytes from lo to hi of the views that lie in it, of which those before first are there for the alignment
    alone."""

    def __init__(self, name, lo, first, hi, views):
        self.name, self.lo, self.first, self.hi, self.views = name, lo, first, hi, views

    def shape(self):
        """Element type and extents: a view's own where one is all of it, else a list of elements."""
        for v in self.views:
            if v.span() == (self.lo, self.hi) and v.dense() is not None:
                return v.dtype, v.dense()
        dtype = self.views[0].dtype
        if (self.hi - self.lo) % _dtype.SIZES[dtype]:
            dtype = "u8"
        return dtype, [(self.hi - self.lo) // _dtype.SIZES[dtype]]

    def before(self):
        """The ranges of bytes that were written before the launch, and their contents one after the other; None where there are none."""
        written = [v for v in self.views if v.read]
        if not written:
            return None, None
        stretches = merged(x for v in written for x in v.intervals())
        if len(stretches) > MAX_RANGES:
            stretches = [(stretches[0][0], stretches[-1][1])]
        read = written[0].read
        return [[lo - self.lo, hi - lo] for lo, hi in stretches], b"".join(read(lo, hi - lo) for lo, hi in stretches)


class Memory:
    """The memory of a launch. Arrays that share bytes are one allocation, so that what is written through one is seen through the other."""

    def __init__(self):
        self.named = []  # (name, view)

    def add(self, name, value):
        v = view(value, name)
        if v is not None and not v.empty():
            self.named.append((name, v))
        return v

    def allocations(self):
        """The allocations, in the order in which arguments lead to them."""
        spans = sorted((v.storage, *v.span(), i) for i, (_, v) in enumerate(self.named))
        groups = []
        for storage, lo, hi, i in spans:
            if groups and groups[-1][0] == storage and lo < groups[-1][2]:
                groups[-1][2] = max(groups[-1][2], hi)
                groups[-1][3].append(i)
            else:
                groups.append([storage, lo, hi, [i]])
        out, taken = [], set()
        for storage, lo, hi, members in sorted(groups, key=lambda g: min(g[3])):
            name = self.named[min(members)][0]
            n = 2
            while name in taken:
                name, n = f"{self.named[min(members)][0]}.{n}", n + 1
            taken.add(name)
            out.append(Allocation(name, lo - (lo - storage) % ALIGNMENT, lo, hi, [self.named[i][1] for i in sorted(members)]))
        return out
