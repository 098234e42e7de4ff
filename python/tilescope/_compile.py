"""What `tilescope init --triton file.py:kernel` executes: imports the file, compiles its kernel for an architecture,
with no GPU, and writes the bundle. The request is a JSON file, the answer another one; nothing is printed."""

import contextlib
import ctypes
import importlib.util
import io
import json
import os
import re
import sys
import traceback

from . import _dtype
from ._bundle import bundle
from ._memory import ALIGNMENT, View, row_major
from ._ptx import BundleError

# Triton's names of element types.
_TRITON = {
    "u8": "u8",
    "i8": "i8",
    "u16": "u16",
    "i16": "i16",
    "u32": "u32",
    "i32": "i32",
    "u64": "u64",
    "i64": "i64",
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
    "e4m3": "fp8e4nv",
    "e5m2": "fp8e5",
}


class Problem(Exception):
    """Why there is no bundle. kind: usage (a wrong request), missing (no Triton), compile (Triton refuses)."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def main(path):
    with open(path, encoding="utf-8") as f:
        request = json.load(f)
    answer = {"error": None}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            answer.update(run(request))
    except Problem as e:
        answer["error"] = {"kind": e.kind, "message": str(e)}
    except BundleError as e:
        answer["error"] = {"kind": "usage", "message": str(e)}
    with open(request["answer"], "w", encoding="utf-8") as f:
        json.dump(answer, f)


def run(request):
    """Compiles the kernel and writes the bundle; returns what it compiled with."""
    # As Python does for the file that it executes.
    sys.path.insert(0, os.path.dirname(os.path.abspath(request["file"])))
    # What Triton has cached may be of a copy of the file, whose paths debug lines then have.
    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as e:
        raise Problem(
            "missing", f"Triton cannot be imported by {sys.executable} ({e}): pip install triton"
        ) from e
    kernel, meta = unwrapped(find(load(request["file"]), request["file"], request["kernel"]))
    values = {name: value(name, x) for name, x in request["args"].items()}
    computed(values, meta)
    signature, constants = signed(kernel, values, meta)
    options = {**meta["options"], **request["options"]}
    target = GPUTarget("cuda", int(re.sub(r"\D", "", request["arch"])), 32)
    try:
        source = ASTSource(
            kernel,
            signature,
            constexprs=constants,
            attrs=attributes(triton, target, kernel, signature, values),
        )
        compiled = triton.compile(source, target=target, options=options)
    except Exception as e:
        raise Problem("compile", described(e)) from e
    given = {n: v for n, v in values.items() if n not in constants}
    bundle(compiled, given, request["grid"], request["out"])
    return {
        "constexprs": {n: str(v) for n, v in constants.items()},
        "options": {n: str(v) for n, v in options.items()},
        "note": meta["note"],
    }


def load(path):
    """The module of a file. What it raises is the caller's mistake."""
    name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as e:  # noqa: BLE001 a file may also exit
        raise Problem("usage", f"{path} cannot be imported: {described(e, path)}") from e
    return module


def described(e, path=None):
    """An exception in one line, with its place in the user's file where it has one."""
    text = " ".join(str(e).split()) or "no message"
    if len(text) > 600:
        text = text[:597] + "..."
    lines = [
        f.lineno
        for f in traceback.extract_tb(e.__traceback__)
        if path and os.path.abspath(f.filename) == os.path.abspath(path)
    ]
    place = f" (line {lines[-1]})" if lines else ""
    return f"{type(e).__name__}: {text}{place}"


def jitted(x):
    """Whether a value is a kernel of Triton's, perhaps within its decorators (autotune, heuristics)."""
    for _ in range(8):
        if type(x).__name__ == "JITFunction":
            return True
        x = getattr(x, "fn", None)
    return False


def find(module, path, name):
    found = [n for n, x in vars(module).items() if jitted(x)]
    x = getattr(module, name, None)
    if not jitted(x):
        known = f"it has {', '.join(found)}" if found else "it has none"
        raise Problem("usage", f"{path} has no @triton.jit kernel {name} ({known})")
    return x


def unwrapped(x):
    """The kernel itself, and what its decorators say: of autotune the first configuration is taken."""
    meta = {"constants": {}, "options": {}, "heuristics": [], "note": ""}
    while type(x).__name__ != "JITFunction":
        configs = getattr(x, "configs", None)
        if configs:
            first = configs[0]
            meta["constants"].update(first.kwargs)
            for name in ("num_warps", "num_stages", "num_ctas"):
                if getattr(first, name, None) is not None:
                    meta["options"][name] = getattr(first, name)
            if len(configs) > 1:
                meta["note"] = (
                    f"of the {len(configs)} configurations that autotune has, the first is compiled"
                )
        elif isinstance(getattr(x, "values", None), dict):
            meta["heuristics"].append(x.values)
        x = x.fn
    return x, meta


def value(name, x):
    """An argument: memory with its contents, a number, or None."""
    if x["kind"] == "null":
        return None
    if x["kind"] == "number":
        return number(name, x)
    n = _dtype.SIZES[x["dtype"]]
    for d in x["dims"]:
        n *= d
    place = ctypes.create_string_buffer(n + ALIGNMENT)
    address = -(-ctypes.addressof(place) // ALIGNMENT) * ALIGNMENT
    if x["data"] is not None:
        with open(x["data"], "rb") as f:
            content = f.read()
        if len(content) != n:
            raise Problem("usage", f"{name}: {len(content)} bytes; expected {n}")
        ctypes.memmove(address, content, n)
    return View(
        address,
        x["dtype"],
        x["dims"],
        row_major(x["dims"]),
        read=ctypes.string_at if x["data"] is not None else None,
        keep=place,
    )


class Number:
    """A scalar, and its type where one is given."""

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype

    def item(self):
        return self.value


def number(name, x):
    text = x["text"]
    try:
        if text in ("true", "false"):
            return text == "true"
        plain = int(text, 0) if re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)", text) else float(text)
    except ValueError:
        raise Problem("usage", f"{name}: {text!r} is no number") from None
    return Number(plain, x["dtype"]) if x["dtype"] else plain


def signed(kernel, values, meta):
    """The types of the kernel's arguments, and the values of its constexprs, None and whole numbers 1 among them, as
    in a launch. Defaults of other arguments are added to the values."""
    signature, constants = {}, {}
    names = [p.name for p in kernel.params]
    unknown = [n for n in values if n not in names]
    if unknown:
        text = f"--arg {unknown[0]}: {kernel.__name__} has no such argument (it has {', '.join(names)})"
        raise Problem("usage", text)
    for p in kernel.params:
        name = p.name
        if name in values:
            x = values[name]
        elif name in meta["constants"]:
            x = meta["constants"][name]
        elif getattr(p, "has_default", False):
            x = p.default
        else:
            raise Problem("usage", f"no --arg for {name}; {kernel.__name__} has {', '.join(names)}")
        if getattr(p, "is_constexpr", False):
            constants[name] = x.value if isinstance(x, Number) else x
            if isinstance(x, View):
                raise Problem("usage", f"{name} is a constexpr; expected a number")
        elif x is None or type(x) is int and x == 1 and not getattr(p, "do_not_specialize", False):
            constants[name] = x
        else:
            values[name] = x
            signature[name] = typed(name, x, getattr(p, "annotation_type", ""))
        signature.setdefault(name, "constexpr")
    return signature, constants


def computed(values, meta):
    """Adds the constexprs that heuristics give, by the arguments and by what is known before."""
    for values_of in meta["heuristics"]:
        for name, rule in values_of.items():
            if name in values:
                continue
            known = {n: x.value if isinstance(x, Number) else x for n, x in values.items()}
            try:
                meta["constants"][name] = rule({**known, **meta["constants"]})
            except Exception as e:
                raise Problem("usage", f"no --arg for {name}, and its heuristic fails: {described(e)}") from e


def typed(name, x, annotated=""):
    """An argument's type in Triton's words: the kernel's, for a number to which the request gives none."""
    if annotated and not isinstance(x, (View, Number)):
        return annotated
    if isinstance(x, View):
        return "*" + _TRITON[x.dtype]
    if isinstance(x, Number):
        return _TRITON[x.dtype]
    if isinstance(x, bool):
        return "i1"
    if isinstance(x, float):
        return "fp32"
    if not isinstance(x, int):
        raise Problem("usage", f"{name} is {x!r} by default; expected --arg {name}")
    for kind, lo, hi in (("i32", -1 << 31, 1 << 31), ("i64", -1 << 63, 1 << 63), ("u64", 0, 1 << 64)):
        if lo <= x < hi:
            return kind
    raise Problem("usage", f"{name}: {x} does not fit 64 bits")


def attributes(triton, target, kernel, signature, values):
    """What a launch reports to the compiler: which addresses and whole numbers are multiples of 16."""
    try:
        known = triton.compiler.make_backend(target).parse_attr("D")
    except Exception:  # noqa: BLE001 a release that says it otherwise: the kernel is right without
        return None
    out = {}
    for i, p in enumerate(kernel.params):
        x = values.get(p.name)
        whole = x.value if isinstance(x, Number) else x
        if signature[p.name] == "constexpr" or getattr(p, "do_not_specialize", False):
            continue
        if (
            isinstance(x, View)
            or isinstance(whole, int)
            and not isinstance(whole, bool)
            and whole
            and whole % 16 == 0
        ):
            out[(i,)] = known
    return out


if __name__ == "__main__":
    main(sys.argv[1])
