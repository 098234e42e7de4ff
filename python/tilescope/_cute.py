"""Functions that CuTe DSL compiled.

The compiled function is host code: it works out grid, block and shared memory, packs every tensor into the struct that its kernel takes,
and calls CUDA's runtime. So that code is executed here, with a runtime that writes the launch down in the place of CUDA's: what is
recorded is what would be launched, and no GPU is needed. Its symbols are those of CUDA's runtime, with an underscore before them.
"""

import ctypes
import re
import struct
import sys

from . import _ptx
from ._memory import view
from ._ptx import BundleError

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int32


def recognise(compiled):
    return hasattr(compiled, "__ptx__") and hasattr(compiled, "ir_module")


class _Config(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("shared", ctypes.c_uint64), ("stream", _POINTER),
                ("attributes", _POINTER), ("count", ctypes.c_uint32)]


# cudaLaunchAttribute: its size, and the ids of those that are part of a bundle (cudaLaunchAttributeID).
_ATTRIBUTE, _COOPERATIVE, _CLUSTER = 72, 2, 4

# Answers to what host code asks of a device (cudaDeviceAttr): threads of a block and shared memory of the largest chip.
_DEVICE = {1: 1024, 8: 49152, 10: 32, 16: 132, 39: 2048, 75: 9, 76: 0, 81: 233472, 95: 1, 97: 232448}


class Recorded:
    """One launch of the host's code."""

    def __init__(self, kernel, grid, block, shared, cluster, cooperative, arguments):
        self.kernel, self.grid, self.block, self.shared = kernel, grid, block, shared
        self.cluster, self.cooperative, self.arguments = cluster, cooperative, arguments


class Runtime:
    """Stands for CUDA's runtime while host code is executed: it answers, and keeps what is launched."""

    def __init__(self, sizes):
        self.sizes = sizes  # bytes of each parameter, by kernel
        self.kernels, self.launches, self.errors, self.keep = {}, [], [], []

    def function(self, name):
        """The function for a symbol of the host's code; None where it is the C library's."""
        handlers = {
            "_cudaLaunchKernelEx": (self.launch_ex, 3), "_cudaLaunchKernel": (self.launch_plain, 10),
            "_cudaLibraryGetKernel": (self.get_kernel, 3), "_cudaDeviceGetAttribute": (self.attribute, 3),
            "_cuKernelGetAttribute": (self.zero_out, 4), "_cudaGetDevice": (self.zero_out, 1),
            "_cudaOccupancyMaxActiveBlocksPerMultiprocessor": (self.one_out, 4), "_cudaLibraryLoadData": (self.zero_out, 8),
            "TVMFFIErrorSetRaisedFromCStr": (self.raised, 2), "TVMFFIErrorSetRaisedFromCStrParts": (self.raised_parts, 3),
        }
        harmless = ("_cudaSetDevice", "_cudaFuncSetAttribute", "_cudaKernelSetAttributeForDevice", "TVMFFIEnvGetStream", "cuda_dialect_get_error_name",
                    "cuda_dialect_init_library_once", "cuda_dialect_unload_library_once", "CuteDSLRT_TVMFFISetRaisedCudaError")
        if name in handlers:
            handle, count = handlers[name]
        elif name in harmless:
            handle, count = (lambda *_: 0), 4
        elif name.startswith(("_cu", "cuda_", "TVMFFI", "CuteDSLRT")):
            handle, count = (lambda *_: self.failed(f"its host code calls {name}, which cannot be recorded")), 4
        else:
            return None
        kinds = [ctypes.c_uint64] * count
        callback = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self.guarded(handle))
        self.keep.append(callback)
        return ctypes.cast(callback, _POINTER)

    def guarded(self, handle):
        """An exception must not cross the host's code: it ends it with an error instead."""
        def call(*args):
            try:
                return handle(*args) or 0
            except Exception as e:  # noqa: BLE001 what it was is raised when the host's code has returned
                return self.failed(str(e))
        return call

    def failed(self, text):
        self.errors.append(text)
        return 1

    def launch_ex(self, config, kernel, arguments):
        c = _Config.from_address(config)
        cluster, cooperative = (1, 1, 1), False
        for i in range(c.count):
            at = c.attributes + i * _ATTRIBUTE
            kind = ctypes.c_int32.from_address(at).value
            if kind == _CLUSTER:
                cluster = tuple((ctypes.c_uint32 * 3).from_address(at + 8))
            elif kind == _COOPERATIVE:
                cooperative = ctypes.c_int32.from_address(at + 8).value != 0
        self.record(kernel, tuple(c.grid), tuple(c.block), c.shared, cluster, cooperative, arguments)

    def launch_plain(self, kernel, gx, gy, gz, bx, by, bz, arguments, shared, _stream):
        low = lambda n: n & 0xFFFFFFFF  # noqa: E731 numbers of 32 bits arrive in registers of 64
        self.record(kernel, (low(gx), low(gy), low(gz)), (low(bx), low(by), low(bz)), shared, (1, 1, 1), False, arguments)

    def record(self, kernel, grid, block, shared, cluster, cooperative, arguments):
        name = self.kernels.get(kernel)
        if name not in self.sizes:
            raise BundleError(f"it launches {name or 'a kernel'}, which its PTX does not have")
        sizes = self.sizes[name]
        places = (_POINTER * len(sizes)).from_address(arguments) if sizes else []
        values = [ctypes.string_at(p, n) for p, n in zip(places, sizes)]
        cluster = tuple(n or 1 for n in cluster)
        self.launches.append(Recorded(name, grid, block, int(shared), cluster, cooperative, values))

    def get_kernel(self, out, _library, name):
        handle = 0x1000 + len(self.kernels)
        self.kernels[handle] = ctypes.string_at(name).decode()
        ctypes.c_uint64.from_address(out).value = handle

    def attribute(self, out, which, _device):
        ctypes.c_int32.from_address(out).value = _DEVICE.get(which & 0xFFFFFFFF, 0)

    def zero_out(self, out, *_):
        ctypes.c_int32.from_address(out).value = 0

    def one_out(self, out, *_):
        ctypes.c_int32.from_address(out).value = 1

    def raised(self, kind, message):
        self.errors.append(f"{ctypes.string_at(kind).decode()}: {ctypes.string_at(message).decode()}")

    def raised_parts(self, kind, parts, count):
        texts = (ctypes.c_char_p * (count & 0xFFFFFFFF)).from_address(parts)
        self.errors.append(ctypes.string_at(kind).decode() + ": " + "".join((t or b"").decode() for t in texts))


def launch(Launch, Parameter, compiled, args, memory, entry):
    text = compiled.__ptx__
    if not text:
        raise BundleError("the compiled function kept no PTX: compile it with options='--keep-ptx', or set CUTE_DSL_KEEP_PTX=1 before")
    if isinstance(text, bytes):
        text = text.decode()
    kernels = _ptx.entries(text)
    runtime = Runtime({name: [p.size for p in k.parameters] for name, k in kernels.items()})
    names = parameter_names(compiled)
    named = dict(args) if isinstance(args, dict) else dict(zip(names, args))
    execute(compiled, runtime, args, names)
    chosen = choose(runtime.launches, entry)
    out = Launch("cute", text, chosen.kernel, versions())
    out.grid, out.block, out.cluster = chosen.grid, chosen.block, chosen.cluster
    out.shared, out.cooperative = chosen.shared, chosen.cooperative
    views = []
    for name, value in list(flattened(named)) + list(memory.items()):
        v = view(value, name)
        if v is not None and not v.empty():
            views.append((name, v))
    used, kernel = set(), kernels[chosen.kernel]
    read = _ptx.bytes_read(text, kernel)
    for i, (p, data) in enumerate(zip(kernel.parameters, chosen.arguments)):
        if p.array and read[p.name] is not None:  # the rest may be padding, which has what was on the host's stack
            data = bytes(b if at in read[p.name] else 0 for at, b in enumerate(data))
        pointers = addresses(data, views)
        for at, found in pointers:
            used.add(found)
        label = parameter_label(i, pointers, views)
        dtype = {("f", 4): "f32", ("f", 8): "f64"}.get((p.kind, p.size), "") if not pointers else ""
        out.parameters.append(Parameter(label, data, dtype, [(at, struct.unpack_from("<Q", data, at)[0]) for at, _ in pointers]))
    for i, (name, v) in enumerate(views):
        if i in used and name not in memory:
            out.memory.add(name, v)
    return out


def versions():
    module = sys.modules.get("cutlass")
    version = getattr(module, "__version__", None) or getattr(getattr(module, "base_dsl", None), "__version__", None)
    try:
        from importlib.metadata import version as installed

        version = installed("nvidia-cutlass-dsl")
    except Exception:  # noqa: BLE001 a package that was not installed by pip has no version there
        pass
    return {"cutlass-dsl": str(version)} if version else {}


def parameter_names(compiled):
    """The names of the compiled function's arguments, in order."""
    arguments = getattr(compiled, "execution_args", None)
    signature = getattr(arguments, "signature", None)
    return [] if signature is None else list(signature.parameters)


def flattened(named):
    """Arguments by name, those within tuples and objects' fields too."""
    for name, value in named.items():
        yield name, value
        parts = parts_of(value)
        if parts:
            yield from flattened({f"{name}.{k}": v for k, v in parts.items()})


def parts_of(value):
    """The parts of a group of values by name: of a tuple, a list, a dictionary, a data class; None for another value."""
    if isinstance(value, (tuple, list)):
        return dict(zip(getattr(value, "_fields", None) or range(len(value)), value))
    if isinstance(value, dict):
        return value
    if hasattr(value, "__dataclass_fields__"):
        return {f: getattr(value, f) for f in value.__dataclass_fields__}
    return None


def addresses(data, views):
    """The words of a parameter that are addresses of known memory: (byte, index of the view)."""
    out, at = [], 0
    while at + 8 <= len(data):
        word = struct.unpack_from("<Q", data, at)[0]
        found = next((i for i, (_, v) in enumerate(views) if v.address == word), None)
        if found is None:
            found = next((i for i, (_, v) in enumerate(views) if v.span()[0] <= word < v.span()[1]), None)
        if found is None or word == 0:
            at += 4  # words of 4 bytes may come before an address that is packed
            continue
        out.append((at, found))
        at += 8
    return out


def parameter_label(i, pointers, views):
    """A parameter's name: that of the array that it leads to."""
    return views[pointers[0][1]][0] if pointers else f"arg{i}"


def choose(launches, entry):
    """The launch that is meant: the only one, or the one of an entry."""
    if not launches:
        raise BundleError("the compiled function launches nothing for these arguments")
    found = [x for x in launches if entry in (None, x.kernel)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(x.kernel for x in launches)
    if not found:
        raise BundleError(f"it does not launch {entry} (it launches {listed})")
    raise BundleError(f"it launches {len(found)} kernels, choose one with entry=: {listed}")


def execute(compiled, runtime, args, names):
    """Executes the host's code once, with runtime in the place of CUDA's."""
    engine = host_engine(compiled, runtime)
    load(engine, compiled, runtime)
    symbol = "__tvm_ffi_" + compiled.function_name
    text = str(compiled.ir_module)
    if f"@{symbol}(" in text:
        call_ffi(engine, symbol, runtime, args, names, compiled)
    else:
        call_plain(engine, compiled, runtime, args)
    if runtime.errors:
        raise BundleError("the compiled function refused its arguments: " + "; ".join(dict.fromkeys(runtime.errors)))


def host_engine(compiled, runtime):
    """The host's code again, linked to runtime."""
    from cutlass._mlir import execution_engine

    engine = execution_engine.ExecutionEngine(compiled.ir_module, opt_level=0, shared_libs=[])
    for name in re.findall(r"llvm\.func @(\w+)\([^{\n]*$", re.sub(r" attributes \{[^}]*\}", "", str(compiled.ir_module)), re.M):
        function = runtime.function(name)
        if function is not None:
            engine.raw_register_runtime(name, function)
    return engine


def packed(engine, symbol, *places):
    """Calls a function of the host's code: each place is the address of an argument, the last that of its result."""
    address = engine.raw_lookup(symbol)
    if not address:
        raise BundleError(f"the compiled function's host code has no {symbol}")
    ctypes.CFUNCTYPE(None, _POINTER)(address)((_POINTER * len(places))(*places))


def load(engine, compiled, runtime):
    """Lets the host's code look its kernels up."""
    library, result = (_POINTER * 8)(), _INT(0)
    pointer = _POINTER(ctypes.addressof(library))
    packed(engine, "cuda_load", ctypes.addressof(pointer), ctypes.addressof(result))
    if result.value:
        raise BundleError(f"the compiled function's kernels cannot be looked up (error {result.value})")


def call_plain(engine, compiled, runtime, args):
    positional, named = ((), dict(args)) if isinstance(args, dict) else (tuple(args), {})
    try:
        values, keep = compiled.execution_args.generate_execution_args(positional, named)
    except Exception as e:
        raise BundleError(f"the compiled function refused its arguments: {e}") from e
    result = _INT(0)
    places = [v if isinstance(v, int) else ctypes.cast(v, _POINTER).value for v in values]
    packed(engine, "_mlir_ciface_" + compiled.function_name, *places, ctypes.addressof(result))
    del keep
    if result.value and not runtime.errors:
        raise BundleError(f"the compiled function failed with error {result.value}")


class _Tensor(ctypes.Structure):
    """DLTensor (dlpack.h)."""

    _fields_ = [("data", _POINTER), ("device", _INT * 2), ("ndim", _INT), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", _POINTER), ("strides", _POINTER), ("offset", ctypes.c_uint64)]


class _Any(ctypes.Structure):
    """TVMFFIAny (tvm/ffi/c_api.h): the value's type and its eight bytes."""

    _fields_ = [("kind", _INT), ("padding", _INT), ("value", ctypes.c_uint64)]


_KINDS = {"none": 0, "int": 1, "bool": 2, "float": 3, "pointer": 4, "tensor": 7}
_CUDA = 2  # kDLCUDA: what the code was compiled for, wherever the bytes are
_CODES = {"i": 0, "u": 1, "f": 2, "bf": 4, "e4m3": 10, "e5m2": 12}


def tensor(v, keep):
    """A view as a DLTensor on a GPU."""
    shape = (ctypes.c_int64 * len(v.dims))(*v.dims)
    strides = (ctypes.c_int64 * len(v.strides))(*v.strides)
    kind = v.dtype if v.dtype in ("e4m3", "e5m2") else re.match(r"[a-z]+", v.dtype)[0]
    bits = 8 if v.dtype in ("e4m3", "e5m2") else int(re.search(r"\d+$", v.dtype)[0])
    t = _Tensor(v.address, (_INT * 2)(_CUDA, 0), len(v.dims), _CODES[kind], bits, 1, ctypes.addressof(shape), ctypes.addressof(strides), 0)
    keep += [shape, strides, t, v]
    return t


def foreign(name, value, keep):
    """An argument as TVM's function interface takes it."""
    v = view(value, name)
    if v is not None:
        return _Any(_KINDS["tensor"], 0, ctypes.addressof(tensor(v, keep)))
    if value is None:
        return _Any(_KINDS["none"], 0, 0)
    parts = parts_of(value)
    if parts is not None:
        return group(name, parts, keep)
    if hasattr(value, "item"):
        value = value.item()
    if hasattr(value, "value") and isinstance(value.value, (bool, int, float)):
        value = value.value
    if isinstance(value, bool):
        return _Any(_KINDS["bool"], 0, int(value))
    if isinstance(value, int):
        return _Any(_KINDS["int"], 0, value & 0xFFFFFFFFFFFFFFFF)
    if isinstance(value, float):
        return _Any(_KINDS["float"], 0, struct.unpack("<Q", struct.pack("<d", value))[0])
    raise BundleError(f"{name}: {type(value).__name__} is no argument that can be recorded; expected an array, a number or None")


def group(name, parts, keep):
    """A tuple as TVM's function interface takes it: its package makes the object."""
    import tvm_ffi

    for k, v in parts.items():
        if view(v, f"{name}.{k}") is not None:
            raise BundleError(f"{name}.{k}: arrays within a group of arguments cannot be recorded")
    made = tvm_ffi.convert(tuple(parts.values()))
    keep.append(made)
    handle = made.__chandle__()
    return _Any(ctypes.c_int32.from_address(handle + 8).value, 0, handle)  # TVMFFIObject: the type follows the counter


def call_ffi(engine, symbol, runtime, args, names, compiled):
    """Calls a function that was compiled for TVM's function interface (--enable-tvm-ffi). What is not given by name is None; the stream
    is no argument of it."""
    if isinstance(args, dict):
        unknown = [n for n in args if names and n not in names]
        if unknown:
            raise BundleError(f"{unknown[0]}: the function has no such argument (it has {', '.join(names)})")
        signature = compiled.execution_args.signature.parameters
        default = {n: None if p.default is p.empty else p.default for n, p in signature.items()}
        values = [(n, args.get(n, default[n])) for n in names if not streamed(signature[n]) or n in args]
    else:
        values = [(names[i] if i < len(names) else f"argument {i}", v) for i, v in enumerate(args)]
    keep = []
    array = (_Any * max(len(values), 1))(*(foreign(n, v, keep) for n, v in values))
    handle, place, count, result, out = _POINTER(0), _POINTER(ctypes.addressof(array)), _INT(len(values)), _Any(), _INT(0)
    answer = _POINTER(ctypes.addressof(result))
    packed(engine, symbol, *(ctypes.addressof(x) for x in (handle, place, count, answer, out)))
    if out.value and not runtime.errors:
        raise BundleError(f"the compiled function failed with error {out.value}")


def streamed(parameter):
    return "CUstream" in str(parameter.annotation) or parameter.name == "stream"

