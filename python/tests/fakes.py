"""Stand-ins for what Triton and CuTe DSL return, and for the parts of NumPy and PyTorch that are looked at: the tests need none of them."""

import ctypes
import sys
import types
from collections import namedtuple
from contextlib import contextmanager

from tilescope import _cute

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

TRITON = HEAD + """
.extern .shared .align 16 .b8 global_smem[];
.visible .entry scale_rows(
	.param .u64 .ptr .global .align 1 scale_rows_param_0, // X
	.param .u64 .ptr .global .align 1 scale_rows_param_1,
	.param .f32 scale_rows_param_2,
	.param .u32 scale_rows_param_3,
	.param .u64 .ptr .global .align 1 scale_rows_param_4,
	.param .u64 .ptr .global .align 1 scale_rows_param_5
)
.reqntid 128
{
	.loc	1 7 0
	ret;
}
	.file	1 "%s"
	.section	.debug_abbrev
	{
.b8 1
	}
	.section	.debug_info
	{
.b8 47                                  // DW_AT_comp_dir
	}
	.section	.debug_str
	{
.b8 99
	}
"""

CUTE = HEAD + """
.visible .entry kernel_a(
	.param .align 8 .b8 kernel_a_param_0[24],
	.param .u64 kernel_a_param_1,
	.param .f32 kernel_a_param_2
)
.reqntid 64, 2
{
	ld.param.b64 %rd1, [kernel_a_param_0];
	ld.param.v2.b32 {%r1, %r2}, [kernel_a_param_0+8];
	ld.param.b64 %rd2, [kernel_a_param_1];
	ret;
}
.visible .entry kernel_b()
{
	ret;
}
"""


class Compiled:
    """A CompiledKernel of Triton."""

    def __init__(self, ptx, signature, constants, path="kernel.py", **metadata):
        self.asm = {"ttir": "", "ptx": ptx % path if "%s" in ptx else ptx}
        defaults = {"name": "scale_rows", "num_warps": 4, "shared": 512, "num_ctas": 1, "launch_cooperative_grid": False,
                    "global_scratch_size": 0, "profile_scratch_size": 0, "triton_version": "3.9.0"}
        defaults.update(metadata)
        self.metadata = namedtuple("KernelMetadata", sorted(defaults))(**defaults)
        names = list(signature)
        self.src = types.SimpleNamespace(
            signature=signature, constants={(names.index(k),): v for k, v in constants.items() if k in names}, fn=types.SimpleNamespace(arg_names=names))


SIGNATURE = {"X": "*fp32", "Y": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"}


def triton(path="kernel.py", signature=SIGNATURE, **metadata):
    return Compiled(TRITON, signature, {"BLOCK": 64}, path, **metadata)


class Array:
    """An array of NumPy, as far as it is looked at: elements of a format in a buffer, by extents and strides in bytes."""

    def __init__(self, owner, dtype, shape, strides, offset=0, base=None):
        self.owner, self.shape, self.strides, self.base = owner, tuple(shape), tuple(strides), base
        self.dtype = types.SimpleNamespace(name=dtype, byteorder="=")
        self.__array_interface__ = {"data": (ctypes.addressof(owner) + offset, False)}


def array(dtype, shape, size, fill=None):
    """A whole array, row-major, of bytes 0, 1, 2, …"""
    n = size
    strides = []
    for d in reversed(shape):
        strides.insert(0, n)
        n *= d
    owner = (ctypes.c_uint8 * n)(*((i if fill is None else fill) & 0xFF for i in range(n)))
    return Array(owner, dtype, shape, strides)


class Host:
    """The host's code of a compiled CuTe function: calls the runtime that was registered, as compiled code does."""

    def __init__(self, launches, error=None):
        self.launches, self.error, self.functions, self.keep = launches, error, {}, []

    def raw_register_runtime(self, name, address):
        self.functions[name] = address.value

    def call(self, name, *args):
        kinds = [ctypes.c_uint64] * len(args)
        return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self.functions[name])(*args)

    def raw_lookup(self, symbol):
        body = {"cuda_load": self.load, "_mlir_ciface_host": self.run, "__tvm_ffi_host": self.run_ffi}.get(symbol)
        if body is None:
            return 0
        self.keep.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(body))
        return ctypes.cast(self.keep[-1], ctypes.c_void_p).value

    def load(self, _args):
        self.handles = {}
        for launch in self.launches:
            handle, name = ctypes.c_uint64(), ctypes.create_string_buffer(launch["kernel"].encode())
            self.call("_cudaLibraryGetKernel", ctypes.addressof(handle), 0, ctypes.addressof(name))
            self.handles[launch["kernel"]] = handle.value

    def run(self, args):
        self.launch(lambda i: ctypes.c_uint64.from_address((ctypes.c_void_p * 8).from_address(args)[i]).value, args)

    def run_ffi(self, args):
        places = (ctypes.c_void_p * 5).from_address(args)
        count = ctypes.c_int32.from_address(places[2]).value
        values = (_cute._Any * count).from_address(ctypes.c_uint64.from_address(places[1]).value)
        self.kinds = [v.kind for v in values]
        if self.error:
            kind, text = ctypes.create_string_buffer(b"TypeError"), ctypes.create_string_buffer(self.error.encode())
            self.call("TVMFFIErrorSetRaisedFromCStr", ctypes.addressof(kind), ctypes.addressof(text))
            ctypes.c_int32.from_address(places[4]).value = -1
            return
        self.launch(lambda i: _cute._Tensor.from_address(values[i].value).data, args)

    def launch(self, pointer, _args):
        """Each parameter is bytes, in which 'p0' stands for the address of argument 0."""
        for x in self.launches:
            blocks = []
            for parameter in x["parameters"]:
                data = b"".join(pointer(int(part[1:])).to_bytes(8, "little") if isinstance(part, str) else part for part in parameter)
                blocks.append(ctypes.create_string_buffer(data, len(data)))
            array = (ctypes.c_void_p * max(len(blocks), 1))(*(ctypes.addressof(b) for b in blocks))
            attributes = (ctypes.c_uint8 * (72 * len(x.get("attributes", []))))()
            for i, (kind, values) in enumerate(x.get("attributes", [])):
                ctypes.c_int32.from_address(ctypes.addressof(attributes) + 72 * i).value = kind
                for k, v in enumerate(values):
                    ctypes.c_uint32.from_address(ctypes.addressof(attributes) + 72 * i + 8 + 4 * k).value = v
            config = _cute._Config((ctypes.c_uint32 * 3)(*x["grid"]), (ctypes.c_uint32 * 3)(*x["block"]), x["shared"], 0,
                                   ctypes.addressof(attributes) if attributes else 0, len(x.get("attributes", [])))
            self.call("_cudaLaunchKernelEx", ctypes.addressof(config), self.handles[x["kernel"]], ctypes.addressof(array))
        for name in [n for n in self.functions if n.startswith("_cudaUnknown")]:
            self.call(name, 0, 0, 0, 0)


class Argument:
    """An argument of a function's signature (inspect.Parameter)."""

    empty, default, annotation = object(), None, "Tensor"

    def __init__(self, name):
        self.name = name


class Function:
    """A function that cute.compile returned."""

    def __init__(self, host, ffi=False, ptx=CUTE, extra=""):
        self.host, self.__ptx__ = host, ptx
        self.function_name = "host"
        functions = ["_cudaLaunchKernelEx(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32", "_cudaLibraryGetKernel(!llvm.ptr) -> i32"]
        functions += ["TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr) attributes {llvm.linkage = \"external\"}", "printf(!llvm.ptr, ...) -> i32"]
        functions += [extra] if extra else []
        self.ir_module = "".join(f"  llvm.func @{f}\n" for f in functions) + "  llvm.func @host(%arg0: !llvm.ptr) -> i32 {\n  }\n"
        if ffi:
            self.ir_module += "  llvm.func @__tvm_ffi_host(%arg0: !llvm.ptr) -> i32 {\n  }\n"
        self.execution_args = self

    signature = types.SimpleNamespace(parameters={n: Argument(n) for n in ("x", "y", "factor", "stream")})

    def generate_execution_args(self, args, kwargs):
        values = list(args) or [kwargs[n] for n in ("x", "y", "factor")]
        if len(values) != 3:
            raise TypeError(f"expected 3 arguments, found {len(values)}")
        keep = [ctypes.c_uint64(v.__array_interface__["data"][0]) for v in values[:2]] + [ctypes.c_float(values[2])]
        return [ctypes.addressof(k) for k in keep], keep


@contextmanager
def cutlass(host):
    """The package that links host code, for as long as the block lasts."""
    engine = types.ModuleType("cutlass._mlir.execution_engine")
    engine.ExecutionEngine = lambda module, opt_level, shared_libs: host
    mlir = types.ModuleType("cutlass._mlir")
    mlir.execution_engine = engine
    package = types.ModuleType("cutlass")
    package._mlir = mlir
    added = {"cutlass": package, "cutlass._mlir": mlir, "cutlass._mlir.execution_engine": engine}
    before = {n: sys.modules.get(n) for n in added}
    sys.modules.update(added)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
