package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/cache"
)

// NVCC is the compiler for sources that NVRTC does not take: those with host code. It is immutable and may be used from
// several goroutines.
type NVCC struct {
	Path    string
	Version string // "13.0.88"
	cache   *cache.Cache
}

// ErrNoNVCC is wrapped by FindNVCC's error where there is none.
var ErrNoNVCC = errors.New("no nvcc found")

// NVCCWheels are the packages that give a machine without CUDA an nvcc, as pip names them.
var NVCCWheels = []string{
	"nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.88", "nvidia-cuda-nvrtc==13.0.88",
	"nvidia-nvvm==13.0.88", "nvidia-cuda-cccl==13.0.85",
}

// nvccLimit bounds a compilation that nobody has given less time.
const nvccLimit = 5 * time.Minute

// nvccDirs are where nvcc lies in the places of a search list.
var nvccDirs = []string{"bin", "nvidia/cu13/bin", "nvidia/cu12/bin", "nvidia/cuda_nvcc/bin"}

// FindNVCC looks for nvcc in the configured path, .toolchain, site-packages, $CUDA_HOME, /usr/local/cuda and along PATH, and
// asks its version, which proves that it runs.
func FindNVCC(ctx context.Context, cfg Config) (*NVCC, error) {
	places := searchList(cfg)
	path := cfg.Path
	if base := strings.TrimSuffix(filepath.Base(path), ".exe"); base != "nvcc" || !isFile(path) {
		path = findTool(places, "nvcc", nvccDirs)
	}
	if path == "" {
		return nil, fmt.Errorf("%w (pip install %s)", ErrNoNVCC, strings.Join(NVCCWheels, " "))
	}
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	m := ptxasRelease.FindSubmatch(out)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %s --version: %w%s", ErrNoNVCC, path, err, indent(string(out)))
	case m == nil:
		return nil, fmt.Errorf("%w: %s does not say its version", ErrNoNVCC, path)
	}
	return &NVCC{Path: path, Version: string(m[1]), cache: cfg.Cache}, nil
}

// Compiler names the compiler in digests and documents: "nvcc 13.0.88".
func (n *NVCC) Compiler() string { return "nvcc " + n.Version }

// Compile builds PTX of a source's device code, with the same options as NVRTC. A source that does not compile is a
// *CompileError. When ctx ends, nvcc and everything it has started is killed.
func (n *NVCC) Compile(ctx context.Context, b Build) (*PTX, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	options := slices.Concat(Options(b.Arch), b.Options)
	for _, d := range b.Defines {
		options = append(options, "-D"+d)
	}
	key := buildKey(n.Compiler(), b, options, []string{n.Path})
	if p := cachedPTX(n.cache, key); p != nil {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "tilescope-nvcc-")
	if err != nil {
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // nvcc writes resolved paths
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	source, err := lay(dir, b)
	if err != nil {
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	args := append([]string{"-ptx", "-o", filepath.Join(dir, "out.ptx"), "-I", filepath.Join(dir, handedOver)}, options...)
	for _, d := range b.Include {
		args = append(args, "-I", d)
	}
	p, err := n.run(ctx, dir, append(args, source), b)
	if err == nil {
		keepPTX(n.cache, key, p)
	}
	return p, err
}

// handedOver is the folder of a compilation where headers given as text are.
const handedOver = "headers"

// lay writes a build's texts below dir; source is the source's path from there.
func lay(dir string, b Build) (source string, err error) {
	write := func(name, text string) error {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	for name, text := range b.Headers {
		if !filepath.IsLocal(name) {
			return "", fmt.Errorf("header %s: a name within the build's own folder is needed", name)
		}
		if err := write(filepath.Join(handedOver, filepath.FromSlash(name)), text); err != nil {
			return "", err
		}
	}
	source = filepath.FromSlash(b.Name)
	if !filepath.IsLocal(source) {
		source = filepath.Base(source)
	}
	if filepath.Ext(source) != ".cu" {
		source += ".cu" // nvcc goes by the name
	}
	return source, write(source, b.Source)
}

func (n *NVCC) run(ctx context.Context, dir string, args []string, b Build) (*PTX, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, nvccLimit, fmt.Errorf("nvcc did not finish within %s", nvccLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Path, args...)
	cmd.Dir = dir
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	where := n.paths(dir, b)
	if err != nil {
		log := said.String()
		if ds := diagnostics(log, where, b.lines()); len(ds) > 0 {
			return nil, &CompileError{Name: b.Name, Diagnostics: ds, Log: log}
		}
		return nil, fmt.Errorf("nvcc %s: %w%s", b.Name, err, indent(log))
	}
	text, err := os.ReadFile(filepath.Join(dir, "out.ptx"))
	if err != nil {
		return nil, fmt.Errorf("nvcc %s: %w", b.Name, err)
	}
	return &PTX{Text: settle(string(text), where), Log: said.String(), Compiler: n.Compiler()}, nil
}

func (n *NVCC) paths(dir string, b Build) paths {
	p := paths{own: slices.Concat([]string{filepath.Join(dir, handedOver), dir}, b.Include)}
	root := filepath.Dir(filepath.Dir(n.Path))
	for _, d := range []string{filepath.Join(root, "include"), filepath.Join(root, "targets", "x86_64-linux", "include")} {
		p.toolkit = append(p.toolkit, d)
		if real, err := filepath.EvalSymlinks(d); err == nil && real != d {
			p.toolkit = append(p.toolkit, real)
		}
	}
	return p
}

var (
	notCode  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'`)
	hostCode = regexp.MustCompile(`<<<|\b(?:int|void)\s+main\s*\(|\bcuda(?:Malloc|Memcpy|Free|DeviceSynchronize|GetLastError|LaunchKernel|Stream|Event)\w*\s*\(|\b(?:torch|at)::|#\s*include\s*<(?:iostream|vector|string|memory|chrono|random|fstream|torch/|ATen/|c10/)`)
)

// HasHostCode reports whether a CUDA source holds code for the host, which NVRTC does not compile: a launch, main, calls of
// the runtime, C++'s host libraries. Comments and strings do not count, and a source that asks for __CUDACC_RTC__ hides its
// host code from NVRTC itself.
func HasHostCode(source string) bool {
	return !strings.Contains(source, "__CUDACC_RTC__") && hostCode.MatchString(notCode.ReplaceAllString(source, " "))
}
