/* A CUDA driver for tests: host memory is device memory, and a launch does what the kernel's name says (effect, below).
 *
 * FAKECUDA is a list of rules, "call=action" or "call@n=action" for the n-th call of that function only, separated by
 * commas. An action is a CUresult to return, or: hang (for ever), abort, kill (SIGKILL), exit.
 * FAKECUDA_HANGING is a file made when a call begins to hang. FAKECUDA_DEVICES is the number of devices (1), FAKECUDA_LOG what
 * the compiler says of every module it compiles. FAKECUDA_CACHE is a file of the modules that were compiled before.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define ENTER(name) do { static int calls; int r = enter(#name, ++calls); if (r) return r; } while (0)

typedef uint64_t devptr;

static int sticky;      /* what every call answers once the context is lost */
static int pending;     /* what the running kernel will end with */
static int launches;
static int events;

static void hang(void) {
    const char *path = getenv("FAKECUDA_HANGING");
    FILE *f = path ? fopen(path, "w") : 0;
    if (f) fclose(f);
    for (;;) pause();
}

static int act(const char *action) {
    if (!strncmp(action, "hang", 4)) hang();
    if (!strncmp(action, "abort", 5)) abort();
    if (!strncmp(action, "kill", 4)) { raise(SIGKILL); hang(); }
    if (!strncmp(action, "exit", 4)) _exit(3);
    return atoi(action);
}

static int enter(const char *name, int nth) {
    const char *rule = getenv("FAKECUDA");
    size_t n = strlen(name);
    while (rule && *rule) {
        if (!strncmp(rule, name, n)) {
            if (rule[n] == '=') return act(rule + n + 1);
            if (rule[n] == '@' && atoi(rule + n + 1) == nth) return act(strchr(rule, '=') + 1);
        }
        rule = strchr(rule, ',');
        if (rule) rule++;
    }
    return sticky;
}

API int cuGetErrorName(int code, const char **s) {
    switch (code) {
    case 1: *s = "CUDA_ERROR_INVALID_VALUE"; return 0;
    case 2: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case 100: *s = "CUDA_ERROR_NO_DEVICE"; return 0;
    case 218: *s = "CUDA_ERROR_INVALID_PTX"; return 0;
    case 700: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
    case 716: *s = "CUDA_ERROR_MISALIGNED_ADDRESS"; return 0;
    case 719: *s = "CUDA_ERROR_LAUNCH_FAILED"; return 0;
    }
    return 1;
}
API int cuGetErrorString(int code, const char **s) { return 1; }

API int cuInit(unsigned flags) { ENTER(cuInit); return 0; }
API int cuDriverGetVersion(int *v) { ENTER(cuDriverGetVersion); *v = 13000; return 0; }
API int cuDeviceGetCount(int *n) {
    ENTER(cuDeviceGetCount);
    const char *s = getenv("FAKECUDA_DEVICES");
    *n = s ? atoi(s) : 1;
    return 0;
}
API int cuDeviceGet(int *dev, int ordinal) { ENTER(cuDeviceGet); *dev = ordinal; return 0; }
API int cuDeviceGetName(char *name, int n, int dev) { ENTER(cuDeviceGetName); snprintf(name, n, "Fake GPU %d", dev); return 0; }
API int cuDeviceGetPCIBusId(char *id, int n, int dev) { ENTER(cuDeviceGetPCIBusId); snprintf(id, n, "0000:%02x:00.0", dev); return 0; }
API int cuDeviceTotalMem_v2(size_t *n, int dev) { ENTER(cuDeviceTotalMem_v2); *n = 1 << 30; return 0; }
API int cuDeviceGetAttribute(int *v, int attribute, int dev) {
    ENTER(cuDeviceGetAttribute);
    switch (attribute) {
    case 75: *v = 9; break;
    case 76: *v = 0; break;
    case 38: *v = 1 << 16; break;
    case 97: *v = 232448; break;
    case 10: *v = 32; break;
    default: *v = 1024;
    }
    return 0;
}

API int cuDevicePrimaryCtxRetain(void **ctx, int dev) { ENTER(cuDevicePrimaryCtxRetain); *ctx = &sticky; return 0; }
API int cuCtxSetCurrent(void *ctx) { ENTER(cuCtxSetCurrent); return 0; }
API int cuCtxSynchronize(void) { ENTER(cuCtxSynchronize); return 0; }

/* A module is a copy of its text, a function a copy of its name. */
static void put_log(unsigned n, const int *options, void **values, int which, const char *text) {
    size_t room = 0;
    for (unsigned i = 0; i < n; i++)
        if (options[i] == which + 1) room = (size_t)values[i];
    for (unsigned i = 0; i < n; i++)
        if (options[i] == which && text && room) snprintf(values[i], room, "%s", text);
}
/* compiles is false for a module that the file FAKECUDA_CACHE knows: its code comes from the driver's own cache. */
static int compiles(const char *image) {
    const char *path = getenv("FAKECUDA_CACHE");
    if (!path) return 1;
    unsigned long hash = 5381, known;
    for (const char *p = image; *p; p++) hash = hash * 33 + (unsigned char)*p;
    FILE *f = fopen(path, "a+");
    if (!f) return 1;
    rewind(f);
    while (fscanf(f, "%lx", &known) == 1)
        if (known == hash) { fclose(f); return 0; }
    fprintf(f, "%lx\n", hash);
    fclose(f);
    return 1;
}
static int load(void **mod, const char *image, unsigned n, const int *options, void **values) {
    const char *broken = strstr(image, ".entry broken(");
    if (broken) {
        int line = 1;
        for (const char *p = image; p < broken; p++) line += *p == '\n';
        char text[128];
        snprintf(text, sizeof text, "ptxas application ptx input, line %d; error   : Unknown thing\n", line);
        put_log(n, options, values, 5, text);
        return 218;
    }
    if (compiles(image)) put_log(n, options, values, 3, getenv("FAKECUDA_LOG"));
    *mod = strdup(image);
    return 0;
}
API int cuLibraryLoadData(void **lib, const char *image, const int *options, void **values, unsigned n, int *lo, void **lv, unsigned m) {
    ENTER(cuLibraryLoadData);
    if (lo || lv || m) return 1;
    return load(lib, image, n, options, values);
}
API int cuLibraryUnload(void *lib) { ENTER(cuLibraryUnload); free(lib); return 0; }
API int cuLibraryGetKernel(void **kernel, void *lib, const char *name) {
    ENTER(cuLibraryGetKernel);
    if (!strstr(lib, name)) return 500;
    *kernel = strdup(name);
    return 0;
}
API int cuKernelGetFunction(void **fn, void *kernel) { ENTER(cuKernelGetFunction); *fn = kernel; return 0; }
API int cuModuleLoadDataEx(void **mod, const char *image, unsigned n, const int *options, void **values) {
    ENTER(cuModuleLoadDataEx);
    return load(mod, image, n, options, values);
}
API int cuModuleGetFunction(void **fn, void *mod, const char *name) {
    ENTER(cuModuleGetFunction);
    if (!strstr(mod, name)) return 500;
    *fn = strdup(name);
    return 0;
}
API int cuFuncGetAttribute(int *v, int attribute, const char *fn) {
    ENTER(cuFuncGetAttribute);
    *v = attribute == 4 ? 32 : attribute == 1 ? 64 : attribute == 6 ? 90 : 0;
    if (attribute == 3 && !strcmp(fn, "local")) *v = 16;
    return 0;
}
static int dyn_shared = 48 << 10, big_cluster;
API int cuFuncSetAttribute(void *fn, int attribute, int v) {
    ENTER(cuFuncSetAttribute);
    if (attribute == 14) big_cluster = v; else dyn_shared = v;
    return 0;
}

API int cuMemGetInfo_v2(size_t *free, size_t *total) { ENTER(cuMemGetInfo_v2); *free = 1 << 29; *total = 1 << 30; return 0; }
API int cuMemAlloc_v2(devptr *p, size_t n) { ENTER(cuMemAlloc_v2); *p = (devptr)malloc(n); return 0; }
API int cuMemFree_v2(devptr p) { ENTER(cuMemFree_v2); free((void *)p); return 0; }
API int cuMemcpyHtoD_v2(devptr dst, const void *src, size_t n) { ENTER(cuMemcpyHtoD_v2); memcpy((void *)dst, src, n); return 0; }
API int cuMemcpyDtoH_v2(void *dst, devptr src, size_t n) { ENTER(cuMemcpyDtoH_v2); memcpy(dst, (void *)src, n); return 0; }
API int cuMemcpyDtoD_v2(devptr dst, devptr src, size_t n) { ENTER(cuMemcpyDtoD_v2); memcpy((void *)dst, (void *)src, n); return 0; }
API int cuMemcpyHtoDAsync_v2(devptr dst, const void *src, size_t n, void *s) { ENTER(cuMemcpyHtoDAsync_v2); memcpy((void *)dst, src, n); return 0; }
API int cuMemsetD8Async(devptr dst, unsigned char v, size_t n, void *s) { ENTER(cuMemsetD8Async); memset((void *)dst, v, n); return 0; }

static void compare(void **params) {
    uint32_t *a = *(uint32_t **)params[0], *b = *(uint32_t **)params[1];
    uint64_t words = *(uint64_t *)params[2], *count = *(uint64_t **)params[3], *list = *(uint64_t **)params[4], cap = *(uint64_t *)params[5];
    for (uint64_t i = words; i-- > 0;) {
        uint32_t x = a[i] ^ b[i];
        if (!x) continue;
        uint64_t mask = (x & 0xff ? 1 : 0) + (x & 0xff00 ? 2 : 0) + (x & 0xff0000 ? 4 : 0) + (x & 0xff000000 ? 8 : 0);
        if (*count < cap) list[*count] = i << 4 | mask;
        ++*count;
    }
}

static void bands(unsigned n, void **params) {
    uint64_t *count = *(uint64_t **)params[3];
    for (unsigned i = 0; i < n; i++)
        if (memcmp(((void **)params[0])[i], *(void **)params[1], *(uint32_t *)params[2])) ++*count;
}

/* effect is what a launch of (in, out, n) does, by the kernel's name. n counts floats. */
static void effect(const char *name, unsigned blocks, void **params) {
    if (!strcmp(name, "tilescope_compare")) { compare(params); return; }
    if (!strcmp(name, "tilescope_bands")) { bands(blocks, params); return; }
    if (!strcmp(name, "mapped")) { /* (out, map): the map's bytes, and what its tensor begins with */
        memcpy(*(void **)params[0], params[1], 128);
        memcpy(*(char **)params[0] + 128, *(void **)params[1], 16);
        launches++;
        return;
    }
    launches++;
    float *in = *(float **)params[0], *out = *(float **)params[1];
    unsigned n = *(unsigned *)params[2];
    memcpy(out, in, 4 * n);
    if (!strcmp(name, "half")) memset(out + n / 2, 0xff, 4 * (n - n / 2)); /* NaN: written, with the bytes that were there */
    if (!strcmp(name, "overrun")) memset(out + n + 1, 7, 8);
    if (!strcmp(name, "underrun")) memset(out - 2, 7, 4);
    if (!strcmp(name, "vary")) ((unsigned char *)(out + 5))[1] = launches;
    if (!strcmp(name, "print")) printf("printed by the kernel\n");
    if (!strcmp(name, "illegal")) pending = 700;
    if (!strcmp(name, "misaligned")) pending = 716;
    if (!strcmp(name, "trap")) pending = 719;
    if (!strcmp(name, "hang")) pending = -1;
    if (!strcmp(name, "die")) pending = -2;
    if (!strcmp(name, "instrumented")) {
        unsigned char *control = *(unsigned char **)params[3];
        unsigned char *capture = *(unsigned char **)(control + 8), *inject = *(unsigned char **)(control + 24);
        memcpy(capture, "TSL1", 4);
        capture[16] = inject[16];
        capture[18] = launches; /* the second half of the first tile */
    }
}
/* partial writes the first half only. */
static int partial(const char *name, void **params) {
    if (strcmp(name, "partial")) return 0;
    memcpy(*(float **)params[1], *(float **)params[0], 2 * *(unsigned *)params[2]);
    launches++;
    return 1;
}
/* A tensor map here is its description: address, types and modes, then what the arrays hold, in order. */
API int cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill) {
    ENTER(cuTensorMapEncodeTiled);
    if ((uintptr_t)map % 64 || !strides || !rank || rank > 5) return 1;
    memset(map, 0, 128);
    map[0] = (uint64_t)address;
    map[1] = type | rank << 8 | interleave << 16 | swizzle << 24;
    map[2] = promotion | fill << 8;
    for (uint32_t i = 0; i < rank; i++) {
        map[3 + i] = dims[i];
        if (i) map[7 + i] = strides[i - 1];
        ((unsigned char *)(map + 12))[i] = box[i];
        ((unsigned char *)(map + 13))[i] = steps[i];
    }
    return 0;
}
API int cuLaunchKernel(const char *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       void *stream, void **params, void **extra) {
    ENTER(cuLaunchKernel);
    if (!gx || !gy || !gz || !bx || !by || !bz || (int)shared > dyn_shared || extra) return 1;
    if (!partial(fn, params)) effect(fn, gx, params);
    return 0;
}
API int cuLaunchCooperativeKernel(const char *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  void *stream, void **params) {
    ENTER(cuLaunchCooperativeKernel);
    return cuLaunchKernel(fn, gx, gy, gz, bx, by, bz, shared, stream, params, 0);
}
struct attribute { unsigned id, pad; unsigned value[16]; };
struct config { unsigned g[3], b[3], shared; void *stream; struct attribute *attributes; unsigned n; };
/* Clusters: the grid must be a multiple of them. More than 8 blocks must have been allowed. */
API int cuLaunchKernelEx(const struct config *c, const char *fn, void **params, void **extra) {
    ENTER(cuLaunchKernelEx);
    if (c->n < 1 || c->attributes[0].id != 4) return 1;
    unsigned *v = c->attributes[0].value;
    for (int i = 0; i < 3; i++)
        if (!v[i] || c->g[i] % v[i]) return 912; /* CUDA_ERROR_INVALID_CLUSTER_SIZE */
    if (v[0] * v[1] * v[2] > 8 && !big_cluster) return 912;
    return cuLaunchKernel(fn, c->g[0], c->g[1], c->g[2], c->b[0], c->b[1], c->b[2], c->shared, c->stream, params, extra);
}
static int settle(void) {
    if (pending == -1) hang();
    if (pending == -2) abort();
    if (pending) sticky = pending;
    return sticky;
}

API int cuStreamCreate(void **s, unsigned flags) { ENTER(cuStreamCreate); *s = &pending; return 0; }
API int cuStreamQuery(void *s) { ENTER(cuStreamQuery); return 0; }
API int cuStreamSynchronize(void *s) { ENTER(cuStreamSynchronize); return settle(); }
API int cuEventCreate(void **e, unsigned flags) { ENTER(cuEventCreate); *e = malloc(1); events++; return 0; }
API int cuEventDestroy_v2(void *e) { ENTER(cuEventDestroy_v2); free(e); events--; return 0; }
API int cuEventRecord(void *e, void *stream) { ENTER(cuEventRecord); return 0; }
API int cuEventSynchronize(void *e) { ENTER(cuEventSynchronize); return settle(); }
API int cuEventElapsedTime(float *ms, void *a, void *b) { ENTER(cuEventElapsedTime); static int n; *ms = 0.25f * ++n; return 0; }
