"""What a bundle needs to know of a PTX text: its entries and their parameters, and the files that its debug lines name."""

import os
import re
import sysconfig


class BundleError(ValueError):
    """A launch that cannot be written, and why."""


_NAME = r"[A-Za-z_$%][\w$]*"
_ENTRY = re.compile(r"^[^\n/]*\.entry\s+(" + _NAME + r")\s*(\()?", re.M)
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+)(\d+)((?:\s+\.[a-z]+(?:\s+\d+)?)*)\s+(" + _NAME + r")\s*(?:\[(\d+)\])?")
FILE = re.compile(r'^([ \t]*\.file[ \t]+\d+[ \t]+")([^"\n]*)(")', re.M)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)

# What debug lines may lead to: PTX is foreign text, and only a source may be embedded for it.
SOURCES = (".py", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc")
MAX_SOURCE = 16 << 20


class Parameter:
    """A parameter of an entry: its name in the PTX, its size in bytes, its kind (b, u, s or f), and whether it is an array of bytes: a
    struct."""

    def __init__(self, name, size, kind, array=False):
        self.name, self.size, self.kind, self.array = name, size, kind, array


class Entry:
    """A kernel of a module: its name, its parameters, and the threads that it was compiled for, None where any will do."""

    def __init__(self, name, parameters, threads):
        self.name, self.parameters, self.threads = name, parameters, threads


def entries(text):
    """The kernels of a module, by name, in its order."""
    text = _COMMENT.sub(" ", text)
    out = {}
    for m in _ENTRY.finditer(text):
        end = text.find("{", m.end())
        head = text[m.end():end if end >= 0 else len(text)]
        inside, _, directives = head.partition(")") if m[2] else ("", "", head)
        parameters = [
            Parameter(name, int(bits) // 8 * int(count or 1), kind, bool(count)) for kind, bits, _, name, count in _PARAM.findall(inside)
        ]
        if inside.count(".param") != len(parameters):
            raise BundleError(f"the parameters of {m[1]} cannot be read")
        threads = re.search(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
        out[m[1]] = Entry(m[1], parameters, tuple(int(n or 1) for n in threads.groups()) if threads else None)
    return out


def bytes_read(text, entry):
    """Which bytes of each parameter an entry reads, by the parameter's name; None for one whose address it takes. Those that it does not
    read are padding, or nobody's: what is there means nothing."""
    text = _COMMENT.sub(" ", text)
    out = {}
    for p in entry.parameters:
        name = re.escape(p.name)
        read = set()
        for vector, bits, offset in re.findall(rf"\bld\.param(?:::\w+)?(?:\.v(\d))?\.[busf](\d+)\s+[^;\[]*\[\s*{name}\s*(?:\+\s*(\d+))?\s*\]", text):
            first = int(offset or 0)
            read.update(range(first, first + int(bits) // 8 * int(vector or 1)))
        loads = len(re.findall(rf"\bld\.param[^;\[]*\[\s*{name}\b", text))
        others = len(re.findall(rf"(?<![\w$]){name}(?![\w$])", text)) - loads - 1  # 1: its declaration
        out[p.name] = None if others > 0 else read
    return out


def only(text, name=None):
    """The entry of a name, or the only one."""
    found = entries(text)
    if not found:
        raise BundleError("the PTX has no kernel (.entry)")
    if name is None:
        if len(found) > 1:
            raise BundleError(f"the PTX has {len(found)} kernels, choose one with entry=: {', '.join(found)}")
        return next(iter(found.values()))
    if name not in found:
        raise BundleError(f"the PTX has no kernel {name} (it has {', '.join(found)})")
    return found[name]


def without_debug_info(text):
    """The text without the sections that hold DWARF: they are not executed, and name folders of the machine. Lines (.loc, .file) and
    names of inlined functions (.debug_str) stay."""
    return re.sub(r"^[ \t]*\.section[ \t]+\.debug_(?!str\b)\w+\s*\{[^}]*\}[ \t]*\n?", "", text, flags=re.M)


def portable(text):
    """The text with names of its files that mean the same everywhere, and the sources that are at hand, by these names."""
    names, sources = {}, {}
    for original in dict.fromkeys(m[2] for m in FILE.finditer(text)):
        name = unique(short(original), sources.keys() | set(names.values()))
        names[original] = name
        content = source(original)
        if content is not None:
            sources[name] = content
    text = FILE.sub(lambda m: m[1] + names[m[2]] + m[3], text)
    return without_debug_info(text), sources


def source(path):
    """The content of a source, None where it is not available or no source."""
    try:
        if not path.lower().endswith(SOURCES) or not os.path.isfile(path) or os.path.getsize(path) > MAX_SOURCE:
            return None
        with open(path, "rb") as f:
            content = f.read()
        content.decode("utf-8")
        return content
    except (OSError, ValueError):
        return None


def short(path):
    """A path relative to the working directory or to where packages are installed, else its last part."""
    places = [os.getcwd()] + [sysconfig.get_path(p) for p in ("purelib", "platlib", "stdlib")]
    m = re.search(r"[\\/](?:site|dist)-packages[\\/](.+)$", path)
    name = m[1] if m else os.path.basename(path.replace("\\", "/"))
    if not m and os.path.isabs(path):
        for place in places:
            relative = os.path.relpath(path, place) if place else ".."
            if not relative.startswith(".."):
                name = relative
                break
    parts = [re.sub(r"[^\w.+ -]", "_", p) for p in name.replace("\\", "/").split("/") if p not in ("", ".", "..")]
    return "/".join(parts)[-180:].lstrip("/") or "source"


def unique(name, taken):
    """A name that is not taken: with a number before its extension where it is."""
    stem, ext = os.path.splitext(name)
    n, out = 2, name
    while out in taken:
        out, n = f"{stem}-{n}{ext}", n + 1
    return out
