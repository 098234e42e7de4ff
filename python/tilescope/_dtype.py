"""Element types: their names in tilescope, and those that other packages have for them."""

SIZES = {
    "u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "e4m3": 1, "e5m2": 1,
}

# NumPy's type of a .npy that holds the elements: for those that NumPy does not have, an integer of their size.
NPY = {
    "u8": "|u1", "i8": "|i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8",
    "f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8", "e4m3": "|u1", "e5m2": "|u1",
}

_NAMES = {
    "bool": "u8", "bool_": "u8", "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32", "int32": "i32",
    "uint64": "u64", "int64": "i64", "float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32",
    "float64": "f64", "double": "f64", "float8_e4m3fn": "e4m3", "float8_e4m3": "e4m3", "float8_e5m2": "e5m2",
    # Triton's
    "i1": "u8", "u1": "u8", "fp16": "f16", "fp32": "f32", "fp64": "f64", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
    # CuTe's
    "Boolean": "u8", "Uint8": "u8", "Int8": "i8", "Uint16": "u16", "Int16": "i16", "Uint32": "u32", "Int32": "i32", "Uint64": "u64",
    "Int64": "i64", "Float16": "f16", "BFloat16": "bf16", "Float32": "f32", "TFloat32": "f32", "Float64": "f64",
    "Float8E4M3FN": "e4m3", "Float8E5M2": "e5m2",
}


def named(name):
    """The element type of a name of NumPy's, PyTorch's, Triton's, CuTe's or tilescope's own; None where there is none."""
    text = str(name)
    for prefix in ("torch.", "numpy.", "<class 'numpy."):
        if text.startswith(prefix):
            text = text[len(prefix):].rstrip("'>")
    return text if text in SIZES else _NAMES.get(text)
