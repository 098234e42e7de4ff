/* A CUDA driver, CUPTI and a program for tests of record, in one file. Host memory is device memory; the one kernel, scale,
 * multiplies n floats by a.
 *
 * As libraries (cc -shared -DDRIVER) it is libcuda.so.1 and libcupti.so.13: cuInit loads the library that CUDA_INJECTION64_PATH
 * names, and every function calls the subscriber's callback before and after. As a program it loads a module from a file and
 * launches scale as often as it is given: fake HOW IMAGE LAUNCHES, HOW one of
 *   module    cuModuleLoadData, cuLaunchKernel
 *   library   cuLibraryLoadData of a wrapper, cuLaunchKernelEx with the kernel
 *   capture   as module, on a stream that captures
 *   wrong     as module, and the GPU multiplies by 2 * a
 *   subscriber  as module, and CUPTI has a subscriber already
 *   killed    as module, and the program ends within the launch
 *   fails     as module, and waiting for the launch is error 700
 *   hangs     as module, and the launch does not end */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

typedef struct { uint32_t grid[3], block[3], shared; void *stream; const void *attributes; uint32_t count; } config;

#ifdef DRIVER
typedef struct {
    int site;
    const char *function;
    const void *params, *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
} callback_data;
typedef void (*callback)(void *, int, uint32_t, const callback_data *);

static const char *const names[] = {"cuInit", "cuModuleLoadData", "cuLibraryLoadData", "cuModuleGetFunction", "cuLibraryGetKernel",
                                    "cuLaunchKernel", "cuLaunchKernelEx"};
enum { name_count = sizeof names / sizeof *names };
static callback subscriber;
static int enabled[name_count + 1];
static uint32_t calls;

static int mode(const char *name) { const char *m = getenv("FAKE_MODE"); return m && !strcmp(m, name); }

API int cuptiSubscribe(void **handle, callback f, void *data) {
    if (mode("subscriber")) return 39;
    *handle = &subscriber, subscriber = f;
    return data != 0;
}
API int cuptiGetVersion(uint32_t *v) { *v = 130001; return 0; }
API int cuptiGetCallbackName(int domain, uint32_t id, const char **name) {
    if (domain != 1 || id < 1 || id > name_count) return 1;
    *name = names[id - 1];
    return 0;
}
API int cuptiEnableCallback(uint32_t on, void *handle, int domain, uint32_t id) {
    if (handle != &subscriber || domain != 1) return 1;
    enabled[id] = (int)on;
    return 0;
}
API int cuptiEnableDomain(uint32_t on, void *handle, int domain) {
    if (handle != &subscriber || domain != 1 || on) return 1;
    memset(enabled, 0, sizeof enabled);
    return 0;
}

static void report(int site, const char *name, const void *params, const int *result, const char *symbol, uint32_t call) {
    for (uint32_t id = 1; id <= name_count; id++)
        if (enabled[id] && !strcmp(names[id - 1], name)) {
            callback_data d = {site, name, params, result, symbol, 0, 0, 0, call};
            subscriber(0, 1, id, &d);
        }
}
#define CALL(name, symbol, work) do { uint32_t call = ++calls; int result = 0; report(0, #name, &p, 0, symbol, call); work; \
    report(1, #name, &p, &result, symbol, call); return result; } while (0)

API int cuInit(unsigned flags) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_NOW) : 0;
    int (*initialize)(void);
    if (path && !lib) return fprintf(stderr, "%s\n", dlerror()), 1;
    if (lib && (*(void **)&initialize = dlsym(lib, "InitializeInjection"))) initialize();
    return flags != 0;
}
API int cuModuleLoadData(void **module, const void *image) {
    struct { void **module; const void *image; } p = {module, image};
    CALL(cuModuleLoadData, 0, *module = malloc(1));
}
API int cuLibraryLoadData(void **library, const void *code) {
    struct { void **library; const void *code; } p = {library, code};
    CALL(cuLibraryLoadData, 0, *library = malloc(1));
}
API int cuModuleGetFunction(void **function, void *module, const char *name) {
    struct { void **function, *module; const char *name; } p = {function, module, name};
    CALL(cuModuleGetFunction, 0, *function = malloc(1));
}
API int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    struct { void **kernel, *library; const char *name; } p = {kernel, library, name};
    CALL(cuLibraryGetKernel, 0, *kernel = malloc(1));
}
API int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *size) {
    static const size_t info[3][2] = {{0, 8}, {8, 4}, {12, 4}};
    if (!function || i > 2) return 1;
    *offset = info[i][0], *size = info[i][1];
    return 0;
}

static struct { uint64_t at; size_t size; } memory[8];
static int memories;
API int cuMemAlloc_v2(uint64_t *at, size_t size) {
    *at = memory[memories].at = (uint64_t)calloc(1, size);
    memory[memories++].size = size;
    return 0;
}
API int cuMemGetAddressRange_v2(uint64_t *start, size_t *size, uint64_t at) {
    for (int i = 0; i < memories; i++)
        if (at - memory[i].at < memory[i].size) return *start = memory[i].at, *size = memory[i].size, 0;
    return 1;
}
API int cuPointerGetAttribute(void *value, int attribute, uint64_t at) {
    uint64_t start;
    size_t size;
    if (attribute != 2 || cuMemGetAddressRange_v2(&start, &size, at)) return 1;
    return *(int *)value = 2, 0;
}
API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { memcpy(to, (void *)from, n); return 0; }
static int failed;
API int cuCtxSynchronize(void) { return failed; }
API int cuStreamIsCapturing(void *stream, int *status) { *status = stream != 0; return 0; }
API int cuCtxGetDevice(int *device) { *device = 0; return 0; }
API int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return device; }

static void scale(void **params) {
    float *x = *(float **)params[0], a = *(float *)params[1];
    int n = *(int *)params[2];
    if (mode("killed")) _exit(7);
    while (mode("hangs")) pause();
    if (mode("fails")) failed = 700;
    if (mode("capture")) return;
    for (int i = 0; i < n; i++) x[i] *= mode("wrong") ? 2 * a : a;
}
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       void *stream, void **params, void **extra) {
    struct { void *f; uint32_t grid[3], block[3], shared; void *stream; void **params, **extra; } p = {
        f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra};
    CALL(cuLaunchKernel, "_Z5scalePffi", scale(params));
}
API int cuLaunchKernelEx(const config *c, void *f, void **params, void **extra) {
    struct { const config *c; void *f; void **params, **extra; } p = {c, f, params, extra};
    CALL(cuLaunchKernelEx, "_Z5scalePffi", scale(params));
}
#else
static void *find(void *lib, const char *name) {
    void *f = dlsym(lib, name);
    if (!f) exit((fprintf(stderr, "%s\n", dlerror()), 1));
    return f;
}
#define DRIVER_CALL(name, ...) do { int (*f)(); *(void **)&f = find(lib, #name); if (f(__VA_ARGS__)) return fprintf(stderr, #name "\n"), 1; } while (0)

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    setenv("FAKE_MODE", argv[1], 1);
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *owner = 0, *function = 0;
    FILE *file = fopen(argv[2], "rb");
    char *image = calloc(1, 1 << 20);
    if (!lib || !file || !image || !fread(image, 1, (1 << 20) - 1, file)) return 1;
    int library = !strcmp(argv[1], "library"), n = 100;
    float a = 0.5f;
    uint64_t x;
    struct { uint32_t magic, version; const void *data; void *more; } wrapper = {0x466243b1, 1, image, 0};
    DRIVER_CALL(cuInit, 0);
    if (library) {
        DRIVER_CALL(cuLibraryLoadData, &owner, &wrapper);
        DRIVER_CALL(cuLibraryGetKernel, &function, owner, "_Z5scalePffi");
    } else {
        DRIVER_CALL(cuModuleLoadData, &owner, image);
        DRIVER_CALL(cuModuleGetFunction, &function, owner, "_Z5scalePffi");
        memset(image, '?', 1 << 20); /* a program may free it */
    }
    DRIVER_CALL(cuMemAlloc_v2, &x, (size_t)4096);
    for (int i = 0; i < 1024; i++) ((float *)x)[i] = (float)i;
    void *params[] = {&x, &a, &n};
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (library) {
            config c = {{4, 1, 1}, {32, 1, 1}, 0, 0, 0, 0};
            DRIVER_CALL(cuLaunchKernelEx, &c, function, params, (void **)0);
        } else {
            DRIVER_CALL(cuLaunchKernel, function, 4, 1, 1, 32, 1, 1, 0, strcmp(argv[1], "capture") ? (void *)0 : (void *)lib, params,
                        (void **)0);
        }
    }
    printf("the program's output\n");
    return 0;
}
#endif
