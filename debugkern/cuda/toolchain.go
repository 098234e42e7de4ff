// Package cuda finds and drives what NVIDIA provides: the compilers NVRTC and ptxas, which need no GPU, and
// the driver, which launches kernels.
//
// The one idea: all of it is found on this machine at run time, never linked. FindToolchain says which
// compilers are there and where; Compile turns source text into PTX; Assemble asks ptxas what that PTX
// costs. Open launches on a GPU: a target.Backend whose driver calls all happen in a worker process
// (WorkerMain, the protocol in frame.go), on one thread, so that whatever a kernel does to the device
// costs a worker and nothing else.
//
// It must not know manifests, flags or faults: a build is text, macro definitions and an architecture.
package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/trust"
)

// Config says where to look before looking where CUDA usually is. The zero value looks in
// the usual places only.
type Config struct {
	Root string // directory whose .toolchain holds the wheels; "": the working directory
	// Path: a libnvrtc, or a directory that holds one: a CUDA tree, or a folder that pip
	// installed the wheels into
	Path string
	// Project says that a file of the working directory, and not the user, named Path.
	Project bool
	// Trust decides what may be loaded and executed; nil: nothing of the working directory, and nothing that
	// others can change.
	Trust *trust.Policy
	// Compiler starts a process that serves compilations (CompilerMain); nil: NVRTC is loaded into this one.
	Compiler []string
	// Memory is how many bytes those processes may take together: each at least 1 GiB, at most 4
	// GiB; 0: 4 GiB each.
	Memory int64
	// Cache keeps what was compiled; nil: every build is compiled.
	Cache *cache.Cache
}

// Toolchain is what was found. It is immutable and may be used from several goroutines.
type Toolchain struct {
	NVRTC        string   // the libnvrtc that is loaded
	NVRTCVersion string   // "12.0.140", or "12.0" where the build number is not known
	IncludeDirs  []string // directories with mma.h, cuda_fp16.h and crt/
	PTXAS        string   // path of ptxas, "" where there is none
	Refused      []error  // a *trust.Refused for each file that was found and not used
	lib          *nvrtc
	cache        *cache.Cache
	precompiled  *precompiled
	headers      []string // what distinguishes the toolkit's headers from another version's
}

// Close removes what compilations have left for each other. None may be under way; later
// ones only take longer.
func (t *Toolchain) Close() error {
	if t.lib.apart != nil {
		return t.lib.apart.close()
	}
	return t.precompiled.close()
}

// Compiler names the compiler in digests and documents: "NVRTC 12.0.140".
func (t *Toolchain) Compiler() string { return "NVRTC " + t.NVRTCVersion }

// ErrNoToolchain is wrapped by FindToolchain's error where no libnvrtc could be loaded.
var ErrNoToolchain = errors.New("no NVRTC found")

// ErrNoHeaders is wrapped by FindToolchain's error where NVRTC is there, but not the headers kernels include.
var ErrNoHeaders = errors.New("no CUDA headers (mma.h and crt/mma.h) found")

// FindToolchain loads the first NVRTC of the search list (configured path, .toolchain, site-packages of the
// Pythons on PATH, $CUDA_HOME, /usr/local/cuda, the loader's own path) and collects headers and ptxas, from
// the same tree before others. Parts of different places are combined where one place does not hold them all.
// What cfg.Trust refuses is passed over; the error wraps a *trust.Refused where nothing else was found. Where
// ctx ends first, the error is its.
func FindToolchain(ctx context.Context, cfg Config) (*Toolchain, error) {
	places := searchList(cfg)
	lib, found, err := findNVRTC(ctx, cfg, places)
	if err != nil {
		return nil, err
	}
	places = nearest(places, lib.path)
	t := &Toolchain{lib: lib, NVRTC: lib.path, NVRTCVersion: fullVersion(lib)}
	ptxas := findTool(ctx, cfg, places, "ptxas", ptxasDirs)
	t.PTXAS, t.Refused = ptxas.path, append(found.refused, ptxas.refused...)
	headers := findHeaders(cfg, places, t.Refused)
	t.IncludeDirs = withCCCL(headers.dirs)
	for _, err := range headers.refused {
		if !slices.Contains(t.Refused, err) {
			t.Refused = append(t.Refused, err)
		}
	}
	if err := ctx.Err(); err != nil {
		_ = t.Close() // of processes that have compiled nothing
		return nil, err
	}
	if t.IncludeDirs == nil && len(t.Refused) > 0 { // what was refused may come with its headers
		return nil, fmt.Errorf("%w next to %s: %w", ErrNoHeaders, lib.path, t.Refused[0])
	}
	if t.IncludeDirs == nil {
		return nil, fmt.Errorf("%w next to %s", ErrNoHeaders, lib.path)
	}
	t.cache, t.headers, t.precompiled = cfg.Cache, headerStamps(t.IncludeDirs), &precompiled{}
	return t, nil
}

// searched is how a search for a library went.
type searched struct {
	tried   []string // paths that were looked at
	refused []error  // *trust.Refused: found and not used
}

// findNVRTC opens the first library of the list that may be used and opens.
func findNVRTC(ctx context.Context, cfg Config, places []place) (lib *nvrtc, s searched, err error) {
	var failures, unknown []string
	var apart *compilers
	if len(cfg.Compiler) > 0 {
		apart = newCompilers(cfg.Compiler, cfg.Memory)
		defer func() {
			if lib == nil {
				_ = apart.close() // of processes that have compiled nothing
			}
		}()
	}
	for _, c := range candidates(cfg, places) {
		s.tried = append(s.tried, c.path)
		if err := cfg.Trust.Allow(ctx, c.origin, c.dir, withBuiltins(c.path)...); ctx.Err() != nil {
			return nil, s, ctx.Err()
		} else if err != nil {
			s.refused = append(s.refused, err)
			continue
		}
		lib, err := openIn(ctx, apart, c.path)
		if err == nil {
			return lib, s, nil
		}
		if ctx.Err() != nil {
			return nil, s, ctx.Err()
		}
		if errors.Is(err, dl.ErrUnsupported) {
			return nil, s, fmt.Errorf("%w: %w", ErrNoToolchain, dl.ErrUnsupported)
		}
		if filepath.Base(c.path) == c.path {
			unknown = append(unknown, c.path)
		} else {
			failures = append(failures, err.Error())
		}
	}
	if len(unknown) > 0 {
		failures = append(failures, "the loader knows no "+strings.Join(unknown, ", "))
	}
	if len(s.refused) > 0 {
		return nil, s, fmt.Errorf("%w: %w", ErrNoToolchain, s.refused[0])
	}
	return nil, s, fmt.Errorf("%w (%s)", ErrNoToolchain, strings.Join(failures, "; "))
}

// openIn opens a library in a process apart, or in this one where apart is nil.
func openIn(ctx context.Context, apart *compilers, path string) (*nvrtc, error) {
	if apart == nil {
		return openNVRTC(path)
	}
	major, minor, err := apart.open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &nvrtc{path: path, major: major, minor: minor, apart: apart}, nil
}

// withCCCL adds the folder that a toolkit from CUDA 13 on keeps libcu++ and CUB in, below
// its include directory.
func withCCCL(dirs []string) []string {
	out := slices.Clone(dirs)
	for _, d := range dirs {
		if sub := filepath.Join(d, "cccl"); isFile(filepath.Join(sub, "cuda", "std", "cstdint")) {
			out = append(out, sub)
		}
	}
	return out
}

// withBuiltins is a library and the libraries next to it that it opens itself.
func withBuiltins(library string) []string {
	if filepath.Base(library) == library {
		return []string{library}
	}
	// the only error is a malformed pattern
	beside, _ := filepath.Glob(filepath.Join(escaped(filepath.Dir(library)), "*nvrtc-builtins*"))
	return append([]string{library}, beside...)
}

// candidates lists the libraries to try: files that exist, then bare names for the loader to find.
func candidates(cfg Config, places []place) []candidate {
	var out []candidate
	if st, err := os.Stat(cfg.Path); cfg.Path != "" && err == nil && !st.IsDir() {
		out = append(out, candidate{absolute(cfg.Path), filepath.Dir(absolute(cfg.Path)), cfg.origin()})
	}
	for _, p := range places {
		for _, f := range libraries(p.dir) {
			out = append(out, candidate{f, p.dir, p.origin})
		}
	}
	for _, name := range bareNames() {
		out = append(out, candidate{name, "", trust.System})
	}
	return out
}

// libraries lists the NVRTC libraries of a directory tree, the highest version first.
func libraries(dir string) []string {
	var out []string
	for _, pattern := range libraryPatterns() {
		// the only error is a malformed pattern
		found, _ := filepath.Glob(filepath.Join(escaped(dir), pattern))
		slices.Sort(found)
		slices.Reverse(found)
		for _, f := range found {
			if !strings.Contains(filepath.Base(f), "builtins") &&
				!strings.Contains(filepath.Base(f), ".alt.") {
				out = append(out, f)
			}
		}
	}
	return out
}

func libraryPatterns() []string {
	if runtime.GOOS == "windows" {
		return []string{
			`bin\nvrtc64_*.dll`, `bin\x64\nvrtc64_*.dll`, `nvidia\cuda_nvrtc\bin\nvrtc64_*.dll`,
			`nvidia\cu1?\bin\nvrtc64_*.dll`,
		}
	}
	return []string{
		"nvidia/cuda_nvrtc/lib/libnvrtc.so*", "nvidia/cu1?/lib/libnvrtc.so*", "libnvrtc.so*",
		"lib/libnvrtc.so*", "lib64/libnvrtc.so*",
		"targets/*/lib/libnvrtc.so*",
	}
}

func bareNames() []string {
	switch runtime.GOOS {
	case "windows": // the loader would look in the working directory as well
		var out []string
		for _, name := range []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"} {
			if path := onPath(name); path != "" {
				out = append(out, path)
			}
		}
		return out
	case "darwin":
		return []string{"libnvrtc.dylib"}
	}
	return []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}
}

// nearest puts the place that holds the library first.
func nearest(places []place, library string) []place {
	out := slices.Clone(places)
	slices.SortStableFunc(out, func(a, b place) int {
		return rank(b, library) - rank(a, library)
	})
	return out
}

func rank(p place, library string) int {
	if strings.HasPrefix(library, p.dir+string(filepath.Separator)) {
		return 1
	}
	return 0
}

// foundHeaders is how a search for headers went: dirs is nil where none may be used.
type foundHeaders struct {
	dirs    []string
	refused []error // *trust.Refused: found and not used
}

// findHeaders returns the fewest directories that hold both mma.h and crt/mma.h: one in a CUDA tree,
// two among wheels. Places of which something was refused already, and those whose headers may not be
// used, are passed over.
func findHeaders(cfg Config, places []place, refused []error) foundHeaders {
	var found foundHeaders
	var plain, crt string
	for _, p := range places {
		inPlain, inCRT := headersIn(p.dir)
		var files []string
		if plain == "" && inPlain != "" {
			files = append(files, filepath.Join(inPlain, "mma.h"))
		}
		if crt == "" && inCRT != "" {
			files = append(files, filepath.Join(inCRT, "crt", "mma.h"))
		}
		if err := readable(cfg, p, refused, files); err != nil {
			found.refused = append(found.refused, err)
			continue
		}
		plain, crt = cmp.Or(plain, inPlain), cmp.Or(crt, inCRT)
	}
	switch {
	case plain == "" || crt == "":
	case plain == crt:
		found.dirs = []string{plain}
	default:
		found.dirs = []string{plain, crt}
	}
	return found
}

// readable returns nil where headers of a place may be used.
func readable(cfg Config, p place, refused []error, headers []string) error {
	if len(headers) == 0 {
		return nil
	}
	for _, err := range refused {
		if r := (*trust.Refused)(nil); errors.As(err, &r) && r.Dir == p.dir {
			return err
		}
	}
	return cfg.Trust.Reads(p.origin, p.dir, headers...)
}

// headersIn returns the first directory of a tree with mma.h, and the first with crt/mma.h; ""
// where there is none.
func headersIn(dir string) (plain, crt string) {
	for _, pattern := range []string{
		"include", "targets/*/include", "nvidia/cuda_runtime/include", "nvidia/cuda_nvcc/include",
		"nvidia/cu1?/include",
	} {
		// the only error is a malformed pattern
		dirs, _ := filepath.Glob(filepath.Join(escaped(dir), filepath.FromSlash(pattern)))
		for _, d := range dirs {
			if plain == "" && isFile(filepath.Join(d, "mma.h")) {
				plain = d
			}
			if crt == "" && isFile(filepath.Join(d, "crt", "mma.h")) {
				crt = d
			}
		}
	}
	return plain, crt
}

// ptxasDirs are where ptxas lies in the places of a search list.
var ptxasDirs = []string{"bin", "nvidia/cuda_nvcc/bin", "nvidia/cu13/bin", "nvidia/cu12/bin"}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
