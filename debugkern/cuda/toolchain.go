// Package cuda finds and drives what NVIDIA provides: the compilers NVRTC and ptxas, which need no GPU, and the driver,
// which launches kernels.
//
// The one idea: all of it is found on this machine at run time, never linked. FindToolchain says which compilers are there
// and where; Compile turns source text into PTX; Assemble asks ptxas what that PTX costs. Open launches on a GPU: a
// target.Backend whose driver calls all happen in a worker process (WorkerMain, the protocol in frame.go), on one thread,
// so that whatever a kernel does to the device costs a worker and nothing else.
//
// It must not know manifests, flags or faults: a build is text, macro definitions and an architecture.
package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/cuda/internal/dl"
)

// Config says where to look before looking where CUDA usually is. The zero value looks in the usual places only.
type Config struct {
	Root string // directory whose .toolchain holds the wheels; "": the working directory
	Path string // a libnvrtc, or a directory that holds one: a CUDA tree, or a folder that pip installed the wheels into
	// Cache keeps what was compiled; nil: every build is compiled.
	Cache *cache.Cache
}

// Toolchain is what was found. It is immutable and may be used from several goroutines.
type Toolchain struct {
	NVRTC        string   // the libnvrtc that is loaded
	NVRTCVersion string   // "12.0.140", or "12.0" where the build number cannot be told
	IncludeDirs  []string // directories with mma.h, cuda_fp16.h and crt/
	PTXAS        string   // path of ptxas, "" where there is none
	lib          *nvrtc
	cache        *cache.Cache
	precompiled  *precompiled
	headers      []string // what tells the toolkit's headers from another version's
}

// Close removes what compilations have left for each other. None may be under way; later ones only take longer.
func (t *Toolchain) Close() error { return t.precompiled.close() }

// Compiler names the compiler in digests and documents: "NVRTC 12.0.140".
func (t *Toolchain) Compiler() string { return "NVRTC " + t.NVRTCVersion }

// ErrNoToolchain is wrapped by FindToolchain's error where no libnvrtc could be loaded.
var ErrNoToolchain = errors.New("no NVRTC found")

// ErrNoHeaders is wrapped by FindToolchain's error where NVRTC is there, but not the headers kernels include.
var ErrNoHeaders = errors.New("no CUDA headers (mma.h and crt/mma.h) found")

// place is one directory tree that may hold parts of a toolkit.
type place struct {
	name string // for reports
	dir  string
}

// FindToolchain loads the first NVRTC of the search list (configured path, .toolchain, site-packages of the Pythons on
// PATH, $CUDA_HOME, /usr/local/cuda, the loader's own path) and collects headers and ptxas, from the same tree before
// others. Parts of different places are combined where one place does not hold them all.
func FindToolchain(cfg Config) (*Toolchain, error) {
	places := searchList(cfg)
	lib, _, err := findNVRTC(cfg, places)
	if err != nil {
		return nil, err
	}
	places = nearest(places, lib.path)
	t := &Toolchain{lib: lib, NVRTC: lib.path, NVRTCVersion: fullVersion(lib)}
	t.IncludeDirs = includes(places)
	t.PTXAS = findPTXAS(places)
	if t.IncludeDirs == nil {
		return nil, fmt.Errorf("%w beside %s", ErrNoHeaders, lib.path)
	}
	t.cache, t.headers, t.precompiled = cfg.Cache, headerStamps(t.IncludeDirs), &precompiled{}
	return t, nil
}

// findNVRTC opens the first library of the list that opens; tried lists those looked at.
func findNVRTC(cfg Config, places []place) (lib *nvrtc, tried []string, err error) {
	var failures, unknown []string
	for _, path := range candidates(cfg, places) {
		tried = append(tried, path)
		lib, err := openNVRTC(path)
		if err == nil {
			return lib, tried, nil
		}
		if errors.Is(err, dl.ErrUnsupported) {
			return nil, tried, fmt.Errorf("%w: %w", ErrNoToolchain, dl.ErrUnsupported)
		}
		if filepath.Base(path) == path {
			unknown = append(unknown, path)
		} else {
			failures = append(failures, err.Error())
		}
	}
	if len(unknown) > 0 {
		failures = append(failures, "the loader knows no "+strings.Join(unknown, ", "))
	}
	return nil, tried, fmt.Errorf("%w (%s)", ErrNoToolchain, strings.Join(failures, "; "))
}

// candidates lists the libraries to try: files that exist, then bare names for the loader to find.
func candidates(cfg Config, places []place) []string {
	var out []string
	if st, err := os.Stat(cfg.Path); cfg.Path != "" && err == nil && !st.IsDir() {
		out = append(out, cfg.Path)
	}
	for _, p := range places {
		for _, pattern := range libraryPatterns() {
			found, _ := filepath.Glob(filepath.Join(p.dir, pattern)) // the only error is a malformed pattern
			slices.Sort(found)
			slices.Reverse(found) // the highest version first
			for _, f := range found {
				if !strings.Contains(filepath.Base(f), "builtins") && !strings.Contains(filepath.Base(f), ".alt.") {
					out = append(out, f)
				}
			}
		}
	}
	return append(out, bareNames()...)
}

func libraryPatterns() []string {
	if runtime.GOOS == "windows" {
		return []string{`bin\nvrtc64_*.dll`, `bin\x64\nvrtc64_*.dll`, `nvidia\cuda_nvrtc\bin\nvrtc64_*.dll`, `nvidia\cu1?\bin\nvrtc64_*.dll`}
	}
	return []string{
		"nvidia/cuda_nvrtc/lib/libnvrtc.so*", "nvidia/cu1?/lib/libnvrtc.so*", "libnvrtc.so*", "lib/libnvrtc.so*", "lib64/libnvrtc.so*",
		"targets/*/lib/libnvrtc.so*",
	}
}

func bareNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"}
	case "darwin":
		return []string{"libnvrtc.dylib"}
	}
	return []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}
}

// searchList returns the directories that exist, in the order in which they are tried.
func searchList(cfg Config) []place {
	root := cfg.Root
	if root == "" {
		root = "."
	}
	var list []place
	add := func(name, dir string) {
		if dir == "" {
			return
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return
		}
		if st, err := os.Stat(abs); err == nil && st.IsDir() && !slices.ContainsFunc(list, func(p place) bool { return p.dir == abs }) {
			list = append(list, place{name, abs})
		}
	}
	if cfg.Path != "" {
		add("configured path", cfg.Path)
		if filepath.Base(cfg.Path) != cfg.Path {
			add("configured path", filepath.Dir(cfg.Path))
			add("configured path", filepath.Join(filepath.Dir(cfg.Path), ".."))
			add("configured path", filepath.Join(filepath.Dir(cfg.Path), "..", "..", "..")) // nvidia/cuda_nvrtc/lib among wheels
		}
	}
	add(".toolchain", filepath.Join(root, ".toolchain"))
	for _, dir := range sitePackages() {
		add("site-packages", dir)
	}
	add("$CUDA_HOME", os.Getenv("CUDA_HOME"))
	add("$CUDA_PATH", os.Getenv("CUDA_PATH"))
	add("/usr/local/cuda", "/usr/local/cuda")
	return list
}

// sitePackages lists where pip puts packages for the Pythons of this user: the active environment, the prefix of each
// python on PATH, and the user's own folder.
func sitePackages() []string {
	var prefixes []string
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		prefixes = append(prefixes, v)
	}
	for _, name := range []string{"python3", "python"} {
		if exe, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(exe); err == nil {
				prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
			}
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(exe)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	var out []string
	for _, p := range prefixes {
		for _, pattern := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages"} {
			dirs, _ := filepath.Glob(filepath.Join(p, pattern))
			out = append(out, dirs...)
		}
	}
	return out
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

// includes returns the fewest directories that hold both mma.h and crt/mma.h: one in a CUDA tree, two among wheels.
func includes(places []place) []string {
	var plain, crt string
	for _, p := range places {
		for _, pattern := range []string{"include", "targets/*/include", "nvidia/cuda_runtime/include", "nvidia/cuda_nvcc/include", "nvidia/cu1?/include"} {
			dirs, _ := filepath.Glob(filepath.Join(p.dir, filepath.FromSlash(pattern)))
			for _, d := range dirs {
				if plain == "" && isFile(filepath.Join(d, "mma.h")) {
					plain = d
				}
				if crt == "" && isFile(filepath.Join(d, "crt", "mma.h")) {
					crt = d
				}
			}
		}
	}
	switch {
	case plain == "" || crt == "":
		return nil
	case plain == crt:
		return []string{plain}
	}
	return []string{plain, crt}
}

func findPTXAS(places []place) string {
	exe := "ptxas"
	if runtime.GOOS == "windows" {
		exe = "ptxas.exe"
	}
	for _, p := range places {
		for _, dir := range []string{"bin", "nvidia/cuda_nvcc/bin", "nvidia/cu13/bin", "nvidia/cu12/bin"} {
			if path := filepath.Join(p.dir, filepath.FromSlash(dir), exe); isFile(path) {
				return path
			}
		}
	}
	if path, err := exec.LookPath(exe); err == nil {
		return path
	}
	return ""
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
