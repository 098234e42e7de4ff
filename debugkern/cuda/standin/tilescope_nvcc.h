#pragma once
// What nvcc has read before a source begins, through its cuda_runtime.h, as far as there are stand-ins for it: a source that
// nvcc takes should not need an include more here. Not <stdint.h>: nvcc does not bring uint32_t either, and sources written
// for NVRTC define such types themselves.
#include <assert.h>
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <cstring>
