"""Stands for Triton in the tests of init --triton: a decorator, and a compiler whose kernels are one PTX text."""

import os
import sys
import types
from collections import namedtuple

__version__ = "0.0.1"

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry double_it(
	.param .u64 .ptr .global .align 1 double_it_param_0,
	.param .u64 .ptr .global .align 1 double_it_param_1,
	.param .u32 double_it_param_2,
	.param .u64 .ptr .global .align 1 double_it_param_3
)
.reqntid 32
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<6>;
	.loc	1 LINE 0
	ld.param.u64 %rd1, [double_it_param_0];
	ld.param.u64 %rd2, [double_it_param_1];
	ld.param.u32 %r1, [double_it_param_2];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %tid.x;
	shl.b32 %r4, %r2, 5;
	add.s32 %r5, %r4, %r3;
	setp.ge.s32 %p1, %r5, %r1;
	@%p1 bra DONE;
	mul.wide.s32 %rd3, %r5, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.f32 %f1, [%rd4];
	add.f32 %f2, %f1, %f1;
	add.s64 %rd5, %rd2, %rd3;
	st.global.f32 [%rd5], %f2;
DONE:
	ret;
}
	.file	1 "FILE"
"""


class constexpr:
    pass


class JITFunction:
    def __init__(self, fn):
        self.fn, self.__name__ = fn, fn.__name__
        self.arg_names = list(fn.__code__.co_varnames[:fn.__code__.co_argcount])
        self.params = [types.SimpleNamespace(name=n, is_constexpr=fn.__annotations__.get(n) is constexpr, has_default=False) for n in self.arg_names]


def jit(fn):
    return JITFunction(fn)


class ASTSource:
    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature, self.constants = fn, signature, {(fn.arg_names.index(n),): v for n, v in (constexprs or {}).items()}


class GPUTarget:
    def __init__(self, backend, arch, warp_size):
        self.arch = arch


def compile(source, target, options):
    if options.get("num_warps") == 3:
        raise ValueError("num_warps must be a power of 2\nat 3:5")
    print("compiling for", target.arch)
    code = source.fn.fn.__code__
    ptx = PTX.replace("LINE", str(code.co_firstlineno + 1)).replace("FILE", os.path.abspath(code.co_filename))
    if target.arch == 90:  # what the emulator does not model
        ptx = ptx.replace("sm_80", "sm_90a").replace("DONE:", "DONE:\n\ttcgen05.fence::before_thread_sync;")
    meta = {"name": source.fn.__name__, "num_warps": 1, "shared": 0, "num_ctas": 1, "launch_cooperative_grid": False, "triton_version": __version__}
    return types.SimpleNamespace(asm={"ptx": ptx}, src=source, metadata=namedtuple("Metadata", meta)(**meta))


for name, values in {
    "triton.language": {"constexpr": constexpr}, "triton.compiler": {"ASTSource": ASTSource}, "triton.backends": {},
    "triton.backends.compiler": {"GPUTarget": GPUTarget},
}.items():
    module = types.ModuleType(name)
    module.__dict__.update(values)
    sys.modules[name] = module
compiler, language = sys.modules["triton.compiler"], sys.modules["triton.language"]
