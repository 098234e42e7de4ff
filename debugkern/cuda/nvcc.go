package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/child"
)

// NVCC is the compiler for sources that NVRTC does not take: those with host code. It is immutable and may be
// used from several goroutines.
type NVCC struct {
	Path    string
	Version string // "13.0.88"
	cache   *cache.Cache
}

// ErrNoNVCC is wrapped by FindNVCC's error where there is none.
var ErrNoNVCC = errors.New("no nvcc found")

// NVCCWheels are the packages that give a machine without CUDA an nvcc, as pip names them.
var NVCCWheels = []string{
	"nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.88",
	"nvidia-cuda-nvrtc==13.0.88",
	"nvidia-nvvm==13.0.88", "nvidia-cuda-cccl==13.0.85",
}

// nvccLimit bounds a compilation that nobody has given less time.
const nvccLimit = 5 * time.Minute

// nvccDirs are where nvcc lies in the places of a search list.
var nvccDirs = []string{"bin", "nvidia/cu13/bin", "nvidia/cu12/bin", "nvidia/cuda_nvcc/bin"}

// FindNVCC looks for nvcc in the configured path, .toolchain, site-packages, $CUDA_HOME, /usr/local/cuda and
// along PATH, and asks its version, which proves that it runs.
func FindNVCC(ctx context.Context, cfg Config) (*NVCC, error) {
	places := searchList(cfg)
	path := absolute(cfg.Path)
	if base := strings.TrimSuffix(filepath.Base(path), ".exe"); base == "nvcc" && isFile(path) {
		if err := cfg.Trust.Allow(ctx, cfg.origin(), aboveBin(path), toolFiles(path)...); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoNVCC, err)
		}
	} else {
		found := findTool(ctx, cfg, places, "nvcc", nvccDirs)
		path = found.path
		if path == "" && len(found.refused) > 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoNVCC, found.refused[0])
		}
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

// Compile builds PTX of a source's device code, with the same options as NVRTC. A source that does not
// compile is a *CompileError. When ctx ends, nvcc and everything it has started is killed.
func (n *NVCC) Compile(ctx context.Context, b Build) (*PTX, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for range maxChanged {
		p, err := n.compile(ctx, b)
		if !errors.Is(err, errChanged) {
			return p, err
		}
		if _, changed := b.Overlay[b.File]; changed {
			continue // the source is a text of its own
		}
		text, err := readText(b.File)
		if err != nil {
			return nil, fmt.Errorf("nvcc %s: %w", b.Name, err)
		}
		b.Source = string(text)
	}
	return nil, fmt.Errorf("nvcc %s: %w", b.Name, errChanged)
}

// maxChanged is how often a build starts anew since a file was changed while it was read.
const maxChanged = 3

var errChanged = errors.New("source or headers were changed again and again while they were compiled")

func (n *NVCC) compile(ctx context.Context, b Build) (*PTX, error) {
	identity := func() (cache.Key, closure) {
		c := closureOf(b, n.toolkit())
		return buildKey(n.Compiler(), b, c, n.options(b), []string{n.Path}), c
	}
	key, c := identity()
	if err := c.refusal(b); err != nil {
		return nil, err
	}
	if _, err := b.overlaid(c); err != nil {
		return nil, err
	}
	if p := cachedPTX(n.cache, key, b.Overlay); p != nil {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "tilescope-nvcc-")
	if err != nil {
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(absolute(dir)); err != nil { // nvcc writes resolved paths
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	j := nvccJob{dir: dir, given: b, read: b, c: c}
	if len(b.Overlay) > 0 {
		if j.read, j.original, err = b.mirror(filepath.Join(dir, copied), c); err != nil {
			return nil, fmt.Errorf("nvcc: %w", err)
		}
	}
	source, err := lay(dir, j.read)
	if err != nil {
		return nil, fmt.Errorf("nvcc: %w", err)
	}
	args := append([]string{
		"-ptx", "-o", filepath.Join(dir, "out.ptx"), "-MD", "-MF", filepath.Join(dir, "out.d"),
	}, "-I", filepath.Join(dir, handedOver))
	args = append(args, n.options(j.read)...)
	args = append(args, "-I", filepath.Join(dir, lookedForLast), "-x", "cu", source)
	p, err := n.run(ctx, j, args)
	if b.File != "" && ctx.Err() == nil { // the compiler has read it again
		after, _ := identity()
		text, rerr := os.ReadFile(b.File)
		_, changed := b.Overlay[b.File]
		if after != key || !changed && (rerr != nil || string(text) != b.Source) {
			return nil, errChanged
		}
	}
	if err == nil {
		keepPTX(n.cache, key, p)
	}
	return p, err
}

// options are a build's own, with where its headers are and its symbols.
func (n *NVCC) options(b Build) []string {
	options := b.Standard()
	for _, d := range b.searched() {
		options = append(options, "-I", d)
	}
	for _, d := range b.Defines {
		options = append(options, "-D"+d)
	}
	return options
}

// Folders of a compilation: headers given as text that are found first, those that are looked for last, and
// copies of the build's own files where some are read with changes.
const (
	handedOver    = "headers"
	lookedForLast = "builtin"
	copied        = "own"
)

// nvccJob is one call of nvcc in a folder of its own.
type nvccJob struct {
	dir      string
	given    Build
	read     Build // given, or the copies that are read in its place
	c        closure
	original map[string]string // path of each copy: where the file is
}

// lay writes a build's texts below dir; source is the source's path from there, or where it is itself: what
// it includes in quotes is looked for in its directory.
func lay(dir string, b Build) (source string, err error) {
	for folder, texts := range map[string]map[string]string{handedOver: b.Headers, lookedForLast: b.Builtin} {
		for name, text := range texts {
			if !filepath.IsLocal(name) {
				return "", fmt.Errorf("header %s: a name within the build's own folder is needed", name)
			}
			if err := writeBelow(filepath.Join(dir, folder, filepath.FromSlash(name)), text); err != nil {
				return "", err
			}
		}
	}
	if b.File != "" {
		return b.File, nil
	}
	source = filepath.FromSlash(b.Name)
	if !filepath.IsLocal(source) {
		source = filepath.Base(source)
	}
	err = writeBelow(filepath.Join(dir, source), b.Source)
	if strings.HasPrefix(source, "-") { // it would be an option
		source = filepath.Join(dir, source)
	}
	return source, err
}

func (n *NVCC) run(ctx context.Context, j nvccJob, args []string) (*PTX, error) {
	dir, b := j.dir, j.given
	ctx, cancel := context.WithTimeoutCause(ctx, nvccLimit,
		fmt.Errorf("nvcc did not finish within %s", nvccLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Path, args...)
	cmd.Dir, cmd.Env = dir, child.CompilerEnvironment(os.Environ())
	child.OwnGroup(cmd)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	where := n.paths(j)
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
	return &PTX{
		Text: settle(string(text), where), Log: said.String(), Compiler: n.Compiler(), Headers: n.headers(j),
	}, nil
}

// headers are those that nvcc says it has read, in the rule that it wrote for make: without the source, the
// toolkit's and the system's. Without such a rule they are all that may have been read.
func (n *NVCC) headers(j nvccJob) []Header {
	dir := j.dir
	rule, err := os.ReadFile(filepath.Join(dir, "out.d"))
	if err != nil {
		return (&nvrtcLayout{}).complete(j.given, j.c, nil, false)
	}
	var out []Header
	for _, path := range prerequisites(string(rule)) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		text, err := os.ReadFile(path)
		if err != nil || path == j.read.File || n.foreign(path) {
			continue
		}
		origin, name := OriginOwn, path
		if at, ok := j.original[path]; ok {
			out = append(out, NewHeader(at, string(text), origin))
			continue
		}
		for folder, o := range map[string]string{handedOver: OriginEmbedded, lookedForLast: OriginBuiltin} {
			if rest, ok := strings.CutPrefix(path, filepath.Join(dir, folder)+
				string(filepath.Separator)); ok {
				origin, name = o, filepath.ToSlash(rest)
			}
		}
		if origin == OriginOwn && strings.HasPrefix(path, dir+string(filepath.Separator)) {
			continue // the source, given as text
		}
		out = append(out, NewHeader(name, string(text), origin))
	}
	return sortHeaders(out)
}

// systemDirs are where compilers and libraries of a machine have their headers.
var systemDirs = []string{
	"/usr/include", "/usr/lib", "/usr/local/include", "/Library", "/opt/rh", `C:\Program Files`,
}

// foreign reports a header of the toolkit's or the system's.
func (n *NVCC) foreign(path string) bool {
	return slices.ContainsFunc(slices.Concat(n.toolkit(), systemDirs), func(dir string) bool {
		return strings.HasPrefix(path, dir+string(filepath.Separator))
	})
}

// prerequisites are the files behind the colon of a rule for make, in which a space within a name is escaped.
func prerequisites(rule string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	rule = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(rule)
	for i := 0; i < len(rule); i++ {
		switch ch := rule[i]; {
		case ch == '\\' && i+1 < len(rule) && (rule[i+1] == ' ' || rule[i+1] == '#'):
			i++
			word.WriteByte(rule[i])
		case ch == '$' && i+1 < len(rule) && rule[i+1] == '$':
			i++
			word.WriteByte('$')
		case ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r':
			end()
		default:
			word.WriteByte(ch)
		}
	}
	end()
	for i, w := range out { // "out.ptx :" or "out.ptx:"
		if w == ":" || strings.HasSuffix(w, ":") && len(w) > 2 {
			return out[i+1:]
		}
	}
	return nil
}

func (n *NVCC) paths(j nvccJob) paths {
	dir, b := j.dir, j.given
	p := paths{
		own: slices.Concat([]string{filepath.Join(dir, handedOver), filepath.Join(dir, lookedForLast)},
			j.read.searched(), []string{dir}, b.searched()),
		toolkit: n.toolkit(), name: b.Name,
	}
	if b.File != "" {
		p.source = []string{j.read.File, b.File}
	}
	return p
}

// toolkit is where the headers of nvcc's own toolkit are, also by their resolved paths.
func (n *NVCC) toolkit() []string {
	var out []string
	root := filepath.Dir(filepath.Dir(n.Path))
	for _, d := range []string{
		filepath.Join(root, "include"), filepath.Join(root, "targets", "x86_64-linux", "include"),
	} {
		out = append(out, d)
		if real, err := filepath.EvalSymlinks(d); err == nil && real != d {
			out = append(out, real)
		}
	}
	return out
}
