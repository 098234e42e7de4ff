/* The injected half of tilescope record: a library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH) and
 * that writes one launch of a kernel to a folder: the module's image, the parameters, and the memory that they point to,
 * before and after.
 *
 * It is compiled with the user's cc and includes no header of CUDA or CUPTI: the few types are declared here, by the public
 * documentation of the driver API and of CUPTI's callback API. Callback numbers are looked up by name (cuptiGetCallbackName),
 * functions with dlsym. It reads four variables of the environment:
 *
 *   TILESCOPE_RECORD_DIR     the folder that it writes to, and no other
 *   TILESCOPE_RECORD_KERNEL  an extended regular expression (POSIX) for the kernel's name, mangled or demangled
 *   TILESCOPE_RECORD_NTH     which of the launches that match, from 0
 *   TILESCOPE_RECORD_CUPTI   paths of libcupti to try, separated by ':'
 *
 * It writes events.PID, lines of fields separated by tabs (readEvents in events.go), and the files that the lines name. Of
 * several processes the first that comes to the launch records it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Types of CUPTI's callback API. */
typedef struct {
    int site; /* 0: the call begins, 1: it ends */
    const char *function;
    const void *params; /* a struct of the function's parameters, in their order */
    const void *result;
    const char *symbol; /* of a launch: the kernel's name */
    void *context;
    uint32_t context_id;
    uint64_t *correlation_data;
    uint32_t correlation;
} callback_data;
typedef void (*callback)(void *, int domain, uint32_t id, const callback_data *);
enum { driver_api = 1, most_callbacks = 4096 };

/* Types of the driver API. */
typedef struct { uint32_t id; char pad[4]; union { char bytes[64]; uint32_t dim[3]; int32_t flag; } value; } launch_attribute;
typedef struct {
    uint32_t grid[3], block[3], shared;
    void *stream;
    const launch_attribute *attributes;
    uint32_t attribute_count;
} launch_config;
enum { capability_major = 75, capability_minor = 76, attribute_cooperative = 2, attribute_cluster = 4, pointer_memory_type = 2, memory_host = 1 };

/* Parameters of the functions that are observed. */
typedef struct { void **handle; const void *image; } load_params;                                  /* cuModuleLoadData, cuLibraryLoadData */
typedef struct { void **handle; void *owner; const char *name; } get_params;                       /* cuModuleGetFunction, cuLibraryGetKernel */
typedef struct { void **handle; void *from; } derive_params;                                       /* cuKernelGetFunction, cuLibraryGetModule */
typedef struct {
    void *function;
    uint32_t grid[3], block[3], shared;
    void *stream;
    void **params, **extra;
} launch_params; /* cuLaunchKernel; cuLaunchCooperativeKernel has no extra */
typedef struct { const launch_config *config; void *function; void **params, **extra; } launch_ex_params;
typedef struct {
    void *map;
    int dtype;
    uint32_t rank;
    void *address;
    const uint64_t *dims, *strides;
    const uint32_t *box, *element_strides;
    int interleave, swizzle, promotion, fill;
} tensor_map_params; /* cuTensorMapEncodeTiled */

static struct {
    int (*StreamIsCapturing)(void *, int *);
    int (*ThreadExchangeStreamCaptureMode)(int *);
    int (*CtxSynchronize)(void);
    int (*MemcpyDtoH_v2)(void *, uint64_t, size_t);
    int (*MemGetAddressRange_v2)(uint64_t *, size_t *, uint64_t);
    int (*PointerGetAttribute)(void *, int, uint64_t);
    int (*FuncGetParamInfo)(void *, size_t, size_t *, size_t *);
    int (*KernelGetParamInfo)(void *, size_t, size_t *, size_t *);
    int (*FuncGetModule)(void **, void *);
    int (*KernelGetLibrary)(void **, void *);
    int (*KernelGetFunction)(void **, void *);
    int (*FuncGetName)(const char **, void *);
    int (*KernelGetName)(const char **, void *);
    int (*CtxGetDevice)(int *);
    int (*DeviceGetAttribute)(int *, int, int);
} cu;
static struct {
    int (*Subscribe)(void **, callback, void *);
    int (*EnableCallback)(uint32_t, void *, int, uint32_t);
    int (*EnableDomain)(uint32_t, void *, int);
    int (*GetCallbackName)(int, uint32_t, const char **);
    int (*GetVersion)(uint32_t *);
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static __thread int inside;                              /* calls of ours are not observed */
static const char *folder;
static FILE *events;
static regex_t pattern;
static int has_pattern;
static long nth, matched, captured, graphs;
static int finished; /* the launch is recorded, or another process has it */
static void *subscriber;

/* Modules, libraries, functions and kernels, by handle: the image that they come from. The last entry of a handle counts. */
typedef struct { const void *data; size_t size; const char *call, *library; } image;
typedef struct { void *handle; int image; } origin;
static image *images;
static origin *origins;
static size_t image_count, origin_count;

typedef struct { unsigned char bytes[128]; tensor_map_params p; uint64_t dims[5], strides[5]; uint32_t box[5], element_strides[5]; } tensor_map;
static tensor_map *maps;
static size_t map_count;

/* The launch under way, of which the beginning is recorded. */
typedef struct { uint64_t address; size_t size; int known; } extent;
static struct { uint32_t correlation; int open; extent *extents; size_t count; } current;

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void line(const char *format, ...) {
    if (!events) return;
    va_list list;
    va_start(list, format);
    vfprintf(events, format, list);
    va_end(list);
    fputc('\n', events);
    fflush(events);
}

/* A name as a field: control characters would end it. */
static void field(FILE *f, const char *s) {
    for (; *s; s++) fputc((unsigned char)*s < ' ' ? '?' : *s, f);
}

static void path_of(char *out, size_t n, const char *name, int number) {
    snprintf(out, n, "%s/%s.%d.%d", folder, name, (int)getpid(), number);
}

static int write_all(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        p += k, n -= (size_t)k;
    }
    return 0;
}

/* size_of_image works out how long an image is: a cubin (ELF), a fatbin, or PTX. */
static size_t size_of_image(const void *data) {
    const unsigned char *p = data;
    uint32_t magic;
    memcpy(&magic, p, 4);
    if (magic == 0xba55ed50) { /* header: magic, version, its size, bytes that follow */
        uint16_t head;
        uint64_t rest;
        memcpy(&head, p + 6, 2), memcpy(&rest, p + 8, 8);
        return head + rest;
    }
    if (!memcmp(p, "\177ELF", 4)) {
        uint64_t program, section, end = 64;
        uint16_t n[4];
        memcpy(&program, p + 32, 8), memcpy(&section, p + 40, 8), memcpy(n, p + 54, 8);
        if (program + (uint64_t)n[0] * n[1] > end) end = program + (uint64_t)n[0] * n[1];
        if (section + (uint64_t)n[2] * n[3] > end) end = section + (uint64_t)n[2] * n[3];
        for (unsigned i = 0; i < n[3]; i++) { /* sections with bytes in the file */
            const unsigned char *s = p + section + (uint64_t)i * n[2];
            uint32_t type;
            uint64_t offset, size;
            memcpy(&type, s + 4, 4), memcpy(&offset, s + 24, 8), memcpy(&size, s + 32, 8);
            if (type != 8 && offset + size > end) end = offset + size;
        }
        return end;
    }
    return strlen(data) + 1;
}

static void associate(void *handle, int from) {
    if (!handle || from < 0) return;
    origin *grown = realloc(origins, (origin_count + 1) * sizeof *grown);
    if (!grown) return;
    origins = grown;
    origins[origin_count++] = (origin){handle, from};
}

static int origin_of(void *handle) {
    for (size_t i = origin_count; i-- > 0;)
        if (origins[i].handle == handle) return origins[i].image;
    return -1;
}

/* loaded remembers an image. The runtime's, within a wrapper (magic, version, address), is part of a library of the program
 * and stays where it is; another may be freed after the call and is copied. */
static void loaded(void *handle, const void *data, const char *call) {
    uint32_t magic;
    if (!handle || !data) return;
    memcpy(&magic, data, 4);
    Dl_info info;
    image m = {data, 0, call, dladdr(data, &info) && info.dli_fname ? strdup(info.dli_fname) : ""};
    if (magic == 0x466243b1) {
        memcpy(&m.data, (const char *)data + 8, sizeof m.data);
    } else {
        m.size = size_of_image(data);
        void *copy = malloc(m.size);
        if (!copy) return;
        m.data = memcpy(copy, data, m.size);
    }
    image *grown = realloc(images, (image_count + 1) * sizeof *grown);
    if (!grown) return;
    images = grown;
    images[image_count++] = m;
    associate(handle, (int)image_count - 1);
}

/* image_of finds the image that a launched function comes from: -1 where no load was seen. */
static int image_of(void *function) {
    int i = origin_of(function);
    void *owner = 0;
    if (i < 0 && cu.FuncGetModule && !cu.FuncGetModule(&owner, function)) i = origin_of(owner);
    if (i < 0 && cu.KernelGetLibrary && !cu.KernelGetLibrary(&owner, function)) i = origin_of(owner);
    return i;
}

static const char *name_of(void *function, const char *symbol) {
    const char *name = 0;
    if (symbol && *symbol) return symbol;
    if (cu.FuncGetName && !cu.FuncGetName(&name, function) && name) return name;
    if (cu.KernelGetName && !cu.KernelGetName(&name, function) && name) return name;
    return "";
}

static int matches(const char *name) {
    static char *(*demangle)(const char *, char *, size_t *, int *);
    if (!has_pattern || !regexec(&pattern, name, 0, 0, 0)) return 1;
    static int looked;
    if (!demangle) *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!demangle && !looked++) { /* the program is not C++, or has its library to itself */
        void *lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        if (lib) *(void **)&demangle = dlsym(lib, "__cxa_demangle");
    }
    if (!demangle) return 0;
    int status;
    char *text = demangle(name, 0, 0, &status);
    int yes = text && !regexec(&pattern, text, 0, 0, 0);
    free(text);
    return yes;
}

/* Where Python runs in the process and has imported PyTorch: its allocator's blocks, and tensors, as lines of a file. */
static const char python_part[] =
    "import sys, gc\n"
    "def run(torch, f):\n"
    "  f.write('version\\ttorch\\t%s\\n' % torch.__version__)\n"
    "  if 'triton' in sys.modules: f.write('version\\ttriton\\t%s\\n' % getattr(sys.modules['triton'], '__version__', ''))\n"
    "  for s in torch.cuda.memory_snapshot():\n"
    "    at = s['address']\n"
    "    for b in s['blocks']:\n"
    "      if b['state'] == 'active_allocated': f.write('block\\t%d\\t%d\\n' % (at, b.get('requested_size') or b['size']))\n"
    "      at += b['size']\n"
    "  for o in gc.get_objects():\n"
    "    try:\n"
    "      if not issubclass(type(o), torch.Tensor) or not o.is_cuda or o.layout != torch.strided: continue\n"
    "      s = o.untyped_storage()\n"
    "      f.write('tensor\\t%d\\t%s\\t%d\\t%d\\t%s\\t%s\\n' % (o.data_ptr(), str(o.dtype).split('.')[-1], s.data_ptr(), s.nbytes(),\n"
    "        ','.join(map(str, o.shape)), ','.join(map(str, o.stride()))))\n"
    "    except Exception: continue\n"
    "try:\n"
    "  if 'torch' in sys.modules:\n"
    "    with open(path, 'w') as f: run(sys.modules['torch'], f)\n"
    "except Exception: pass\n";

static char *hex(char *to, const void *data, size_t n) {
    for (const unsigned char *p = data; n--; p++) to += sprintf(to, "%02x", *p);
    return to;
}

static void ask_python(const char *path) {
    int (*initialized)(void), (*ensure)(void), (*run)(const char *);
    void (*release)(int);
    *(void **)&initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    *(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    *(void **)&release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    *(void **)&run = dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    if (!initialized || !ensure || !release || !run || !initialized()) return;
    char *text = malloc(2 * (sizeof python_part + strlen(path)) + 200), *p = text;
    if (!text) return;
    p += sprintf(p, "exec(bytes.fromhex('"); /* in a namespace of its own */
    p = hex(p, python_part, sizeof python_part - 1);
    p += sprintf(p, "').decode(), {'path': bytes.fromhex('");
    p = hex(p, path, strlen(path));
    strcpy(p, "').decode()})");
    int state = ensure();
    run(text);
    release(state);
    free(text);
}

/* Bounds of memory: what the program's allocator gave out, where Python has it, else what the driver allocated. */
typedef struct { uint64_t address; size_t size; } block;
static block *blocks;
static size_t block_count;

static void read_blocks(const char *path) {
    FILE *f = fopen(path, "r");
    char text[4096];
    unsigned long long address, size;
    while (f && fgets(text, sizeof text, f)) {
        if (sscanf(text, "block\t%llu\t%llu", &address, &size) != 2) continue;
        block *grown = realloc(blocks, (block_count + 1) * sizeof *grown);
        if (!grown) break;
        blocks = grown;
        blocks[block_count++] = (block){address, size};
    }
    if (f) fclose(f);
}

/* extent_of adds the memory that an address lies in to the launch's, and returns its index; -1: it is no address. */
static int extent_of(uint64_t address) {
    int type = 0;
    uint64_t start = 0;
    size_t size = 0;
    if (address < 4096 || cu.PointerGetAttribute(&type, pointer_memory_type, address) || type == 0) return -1;
    if (cu.MemGetAddressRange_v2(&start, &size, address) || address - start >= size) return -1;
    extent e = {start, size, 0};
    for (size_t i = 0; i < block_count; i++)
        if (address - blocks[i].address < blocks[i].size && blocks[i].address - start < size) {
            e = (extent){blocks[i].address, blocks[i].size, 1};
            break;
        }
    for (size_t i = 0; i < current.count; i++)
        if (current.extents[i].address == e.address) return (int)i;
    extent *grown = realloc(current.extents, (current.count + 1) * sizeof *grown);
    if (!grown) return -1;
    current.extents = grown;
    current.extents[current.count] = e;
    return (int)current.count++;
}

/* save writes the contents of the launch's memory to files. */
static int save(const char *when) {
    enum { chunk = 16 << 20 };
    char *buffer = malloc(chunk), path[4096];
    int failed = !buffer;
    for (size_t i = 0; i < current.count && !failed; i++) {
        extent *e = &current.extents[i];
        path_of(path, sizeof path, when, (int)i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) { failed = errno; break; }
        for (size_t done = 0; done < e->size && !failed;) {
            size_t n = e->size - done < chunk ? e->size - done : chunk;
            int code = cu.MemcpyDtoH_v2(buffer, e->address + done, n);
            if (code) line("failed\tcopy\t%d", code);
            failed = code || write_all(fd, buffer, n);
            done += n;
        }
        close(fd);
    }
    free(buffer);
    return failed;
}

/* The launch as it is passed: cuLaunchKernel and cuLaunchKernelEx alike. */
typedef struct {
    void *function;
    uint32_t grid[3], block[3], cluster[3], shared;
    int cooperative;
    void *stream, **params, **extra;
} launch;

static launch launch_of(const callback_data *d) {
    launch l = {.cluster = {1, 1, 1}};
    if (!strncmp(d->function, "cuLaunchKernelEx", 16)) {
        const launch_ex_params *p = d->params;
        const launch_config *c = p->config;
        l.function = p->function, l.params = p->params, l.extra = p->extra, l.stream = c->stream, l.shared = c->shared;
        memcpy(l.grid, c->grid, sizeof l.grid), memcpy(l.block, c->block, sizeof l.block);
        for (uint32_t i = 0; i < c->attribute_count; i++) {
            const launch_attribute *a = &c->attributes[i];
            if (a->id == attribute_cluster) memcpy(l.cluster, a->value.dim, sizeof l.cluster);
            if (a->id == attribute_cooperative) l.cooperative = a->value.flag;
        }
        return l;
    }
    const launch_params *p = d->params;
    l.function = p->function, l.params = p->params, l.stream = p->stream, l.shared = p->shared;
    l.cooperative = !strncmp(d->function, "cuLaunchCooperativeKernel", 25);
    if (!l.cooperative) l.extra = p->extra;
    memcpy(l.grid, p->grid, sizeof l.grid), memcpy(l.block, p->block, sizeof l.block);
    return l;
}

/* parameter finds a parameter's bytes: 0 where there is none of that index. */
static const unsigned char *parameter(const launch *l, size_t i, size_t *offset, size_t *size, int *code) {
    *code = cu.FuncGetParamInfo ? cu.FuncGetParamInfo(l->function, i, offset, size) : -1;
    if (*code && cu.KernelGetParamInfo) {
        int other = cu.KernelGetParamInfo(l->function, i, offset, size);
        if (!other) *code = 0;
    }
    if (*code) return 0;
    if (l->params) return l->params[i];
    for (void **x = l->extra; x && *x; x += 2) /* CU_LAUNCH_PARAM_BUFFER_POINTER */
        if (*x == (void *)1) return (const unsigned char *)x[1] + *offset;
    return 0;
}

static void write_parameters(const launch *l) {
    const unsigned char *data;
    size_t offset, size, i;
    int code, known = 0;
    char text[2 * 32768 + 1];
    for (i = 0; (data = parameter(l, i, &offset, &size, &code)); i++) {
        known = 1;
        if (size > 32764) break;
        *hex(text, data, size) = 0;
        line("param\t%zu\t%zu\t%zu\t%s", i, offset, size, text);
        int map = 0;
        for (size_t m = map_count; size >= 128 && m-- > 0;)
            for (size_t at = 0; at + 128 <= size; at += 64)
                if (!memcmp(data + at, maps[m].bytes, 128)) {
                    tensor_map *t = &maps[m];
                    int e = extent_of((uint64_t)t->p.address);
                    fprintf(events, "map\t%zu\t%zu\t%d\t%llu\t%d\t%u\t%d\t%d\t%d\t%d", i, at, e, (unsigned long long)t->p.address, t->p.dtype,
                            t->p.rank, t->p.interleave, t->p.swizzle, t->p.promotion, t->p.fill);
                    for (uint32_t k = 0; k < t->p.rank; k++)
                        fprintf(events, "\t%llu\t%llu\t%u\t%u", (unsigned long long)t->dims[k],
                                (unsigned long long)(k ? t->strides[k - 1] : 0), t->box[k], t->element_strides[k]);
                    line("%s", "");
                    map = 1, m = 0;
                    break;
                }
        for (size_t at = 0; at + 8 <= size && !map; at += 8) { /* the bytes of a map are the driver's */
            uint64_t word;
            memcpy(&word, data + at, 8);
            int e = extent_of(word);
            if (e >= 0) line("word\t%zu\t%zu\t%llu\t%d", i, at, (unsigned long long)word, e);
        }
    }
    /* CUDA_ERROR_INVALID_VALUE ends the list */
    if (!known && code != 1) line("failed\tparameters\t%d", code);
}

static void write_image(void *function) {
    char path[4096];
    int i = image_of(function);
    if (i < 0) {
        line("noimage");
        return;
    }
    image *m = &images[i];
    size_t n = m->size ? m->size : size_of_image(m->data);
    path_of(path, sizeof path, "image", 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write_all(fd, m->data, n)) line("failed\timage\t%d", errno);
    else {
        fprintf(events, "image\t%s\t%s\t", strrchr(path, '/') + 1, m->call), field(events, m->library ? m->library : ""), line("%s", "");
    }
    if (fd >= 0) close(fd);
}

/* claimed makes this process the one that records. */
static int claimed(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/claimed", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void stop(void) {
    finished = 1;
    cupti.EnableDomain(0, subscriber, driver_api);
}

static void begin(const callback_data *d) {
    launch l = launch_of(d);
    const char *name = name_of(l.function, d->symbol);
    if (!matches(name)) return;
    int capturing = 0, mode = 2; /* relaxed: what we call does not end another stream's capture */
    if (cu.ThreadExchangeStreamCaptureMode) cu.ThreadExchangeStreamCaptureMode(&mode);
    int code = cu.StreamIsCapturing(l.stream, &capturing);
    if (code || capturing) {
        if (captured++ < 8) {
            fprintf(events, "captured\t"), field(events, name), line("%s", "");
        }
    } else if (matched++ == nth) {
        if (!claimed()) {
            stop();
        } else if ((code = cu.CtxSynchronize())) {
            line("failed\tsynchronize\t%d", code);
            stop();
        } else {
            char path[4096];
            fprintf(events, "launch\t"), field(events, name), line("\t%s", d->function);
            line("geometry\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%d", l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
                 l.block[2], l.cluster[0], l.cluster[1], l.cluster[2], l.shared, l.cooperative);
            int device, major = 0, minor = 0;
            if (cu.CtxGetDevice && cu.DeviceGetAttribute && !cu.CtxGetDevice(&device) && !cu.DeviceGetAttribute(&major, capability_major, device) &&
                !cu.DeviceGetAttribute(&minor, capability_minor, device))
                line("device\t%d\t%d", major, minor);
            path_of(path, sizeof path, "python", 0);
            pthread_mutex_unlock(&lock); /* a thread that has Python's lock may wait for ours */
            ask_python(path);
            pthread_mutex_lock(&lock);
            read_blocks(path);
            write_image(l.function);
            write_parameters(&l);
            for (size_t i = 0; i < current.count; i++) {
                extent *e = &current.extents[i];
                line("extent\t%zu\t%llu\t%zu\t%d", i, (unsigned long long)e->address, e->size, e->known);
            }
            if ((code = save("before"))) line("failed\tbefore\t%d", code);
            else line("begun");
            current.open = 1, current.correlation = d->correlation;
        }
    }
    if (cu.ThreadExchangeStreamCaptureMode) cu.ThreadExchangeStreamCaptureMode(&mode);
}

static void end(const callback_data *d) {
    int code = d->result ? *(const int *)d->result : 0;
    if (!code) code = cu.CtxSynchronize();
    if (code) line("failed\tlaunch\t%d", code);
    else if ((code = save("after"))) line("failed\tafter\t%d", code);
    else line("recorded");
    current.open = 0;
    stop();
}

static int starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

static void load_ended(const callback_data *d) {
    const char *f = d->function;
    if (d->result && *(const int *)d->result) return;
    if (starts(f, "cuModuleLoadData") || starts(f, "cuLibraryLoadData") || starts(f, "cuModuleLoadFatBinary")) {
        const load_params *p = d->params;
        if (p->handle) loaded(*p->handle, p->image, starts(f, "cuLibrary") ? "cuLibraryLoadData" : "cuModuleLoadData");
    } else if (starts(f, "cuModuleGetFunction") || starts(f, "cuLibraryGetKernel")) {
        const get_params *p = d->params;
        if (p->handle) associate(*p->handle, origin_of(p->owner));
    } else if (starts(f, "cuKernelGetFunction") || starts(f, "cuLibraryGetModule")) {
        const derive_params *p = d->params;
        if (p->handle) associate(*p->handle, origin_of(p->from));
    } else if (starts(f, "cuTensorMapEncodeTiled")) {
        const tensor_map_params *p = d->params;
        tensor_map *grown = p->map && p->rank <= 5 ? realloc(maps, (map_count + 1) * sizeof *grown) : 0;
        if (!grown) return;
        maps = grown;
        tensor_map *t = &maps[map_count++];
        t->p = *p;
        memcpy(t->bytes, p->map, sizeof t->bytes);
        memcpy(t->dims, p->dims, p->rank * sizeof *t->dims), memcpy(t->strides, p->strides, (p->rank - 1) * sizeof *t->strides);
        memcpy(t->box, p->box, p->rank * sizeof *t->box), memcpy(t->element_strides, p->element_strides, p->rank * sizeof *t->element_strides);
    }
}

static void observe(void *unused, int domain, uint32_t id, const callback_data *d) {
    if (inside || finished || domain != driver_api) return;
    int launches = starts(d->function, "cuLaunchKernel") || starts(d->function, "cuLaunchCooperativeKernel");
    inside = 1;
    pthread_mutex_lock(&lock);
    if (finished) {
    } else if (launches && d->site == 0 && !current.open) begin(d);
    else if (launches && d->site == 1 && current.open && d->correlation == current.correlation) end(d);
    else if (starts(d->function, "cuGraphLaunch") && d->site == 0) graphs++;
    else if (!launches && d->site == 1) load_ended(d);
    pthread_mutex_unlock(&lock);
    inside = 0;
}

static void ended(void) {
    if (!finished && events) line("ended\t%ld\t%ld\t%ld", matched, captured, graphs);
}

/* The functions that are observed; those of other versions of a parameter list (_ptsz, Ex) begin alike. */
static const char *const observed[] = {
    "cuModuleLoadData", "cuModuleLoadFatBinary", "cuLibraryLoadData", "cuModuleGetFunction", "cuLibraryGetKernel",
    "cuKernelGetFunction", "cuLibraryGetModule", "cuTensorMapEncodeTiled", "cuLaunchKernel", "cuLaunchCooperativeKernel", "cuGraphLaunch",
};

static int subscribe(void) {
    char *list = strdup(getenv("TILESCOPE_RECORD_CUPTI") ? getenv("TILESCOPE_RECORD_CUPTI") : ""), *rest = list, *path;
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    void *lib = 0; /* the program's own, else the first that opens */
    for (int i = 0; i < 3 && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    while (!lib && rest && (path = strsep(&rest, ":")))
        if (*path) lib = dlopen(path, RTLD_NOW);
    free(list);
    if (!lib) {
        line("nocupti\t%s", dlerror());
        return -1;
    }
#define FIND(name) *(void **)&cupti.name = dlsym(lib, "cupti" #name)
    FIND(Subscribe), FIND(EnableCallback), FIND(EnableDomain), FIND(GetCallbackName), FIND(GetVersion);
#undef FIND
    if (!cupti.Subscribe || !cupti.EnableCallback || !cupti.EnableDomain || !cupti.GetCallbackName) {
        line("nocupti\tit has no callback functions");
        return -1;
    }
    uint32_t version = 0;
    if (cupti.GetVersion && !cupti.GetVersion(&version)) line("cupti\t%u", version);
    int code = cupti.Subscribe(&subscriber, observe, 0);
    if (code) {
        line("subscriber\t%d", code); /* 39: there is one already */
        return -1;
    }
    int count = 0;
    for (uint32_t id = 1; id < most_callbacks; id++) {
        const char *name = 0;
        if (cupti.GetCallbackName(driver_api, id, &name) || !name) continue;
        for (size_t i = 0; i < sizeof observed / sizeof *observed; i++)
            if (starts(name, observed[i]) && !cupti.EnableCallback(1, subscriber, driver_api, id)) count++;
    }
    if (!count) line("nocupti\tit has no callback of a launch");
    return count ? 0 : -1;
}

/* InitializeInjection is called by the driver when the program initialises CUDA. */
__attribute__((visibility("default"))) int InitializeInjection(void) {
    char path[4096];
    static int once;
    const char *text = getenv("TILESCOPE_RECORD_KERNEL");
    folder = getenv("TILESCOPE_RECORD_DIR");
    if (once++ || !folder) return 1;
    snprintf(path, sizeof path, "%s/events.%d", folder, (int)getpid());
    if (!(events = fopen(path, "ae"))) return 1;
    line("process\t%d", (int)getpid());
    has_pattern = text && *text;
    if (has_pattern && regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB)) {
        line("failed\tpattern\t0");
        return 1;
    }
    nth = getenv("TILESCOPE_RECORD_NTH") ? atol(getenv("TILESCOPE_RECORD_NTH")) : 0;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
#define FIND(name) *(void **)&cu.name = lib ? dlsym(lib, "cu" #name) : 0
    FIND(StreamIsCapturing), FIND(ThreadExchangeStreamCaptureMode), FIND(CtxSynchronize), FIND(MemcpyDtoH_v2);
    FIND(MemGetAddressRange_v2), FIND(PointerGetAttribute), FIND(FuncGetParamInfo), FIND(KernelGetParamInfo);
    FIND(FuncGetModule), FIND(KernelGetLibrary), FIND(KernelGetFunction), FIND(FuncGetName), FIND(KernelGetName);
    FIND(CtxGetDevice), FIND(DeviceGetAttribute);
#undef FIND
    if (!cu.StreamIsCapturing || !cu.CtxSynchronize || !cu.MemcpyDtoH_v2 || !cu.MemGetAddressRange_v2 || !cu.PointerGetAttribute) {
        line("nodriver");
        return 1;
    }
    atexit(ended);
    return subscribe() ? 0 : 1;
}
