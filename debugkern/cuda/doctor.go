package cuda

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/cuda/internal/dl"
	"tilescope/debugkern/trust"
)

// Wheels are the packages that give a machine without CUDA everything a build needs, as pip names them.
var Wheels = []string{
	"nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-runtime-cu12==12.0.146",
	"nvidia-cuda-nvcc-cu12==12.0.140",
}

// Elsewhere is how a toolchain is used that lies outside of the places that are searched, or in a working
// directory: the end of an advice on what to install.
const Elsewhere = "; then tilescope trust .toolchain. One that is installed elsewhere: TILESCOPE_TOOLCHAIN=DIR"

// Part is one piece of a toolchain, as doctor shows it.
type Part struct {
	Name    string // "NVRTC", "headers", "ptxas"
	Found   bool
	Path    string // where; several directories joined by the system's list separator
	Version string
	Detail  string // what was looked for in vain, or what is wrong
	Install string // what would give it; "" where it is found
}

// Inspect reports what a toolchain would be made of on this machine. It never fails: what is
// missing is in the report.
func Inspect(ctx context.Context, cfg Config) []Part {
	places := searchList(cfg)
	install := "pip install --target .toolchain " + strings.Join(Wheels, " ") + Elsewhere
	rtc := Part{Name: "NVRTC", Install: install}
	lib, found, err := findNVRTC(ctx, cfg, places)
	switch {
	case err == nil:
		defer lib.end()
		places = nearest(places, lib.path)
		rtc = Part{Name: "NVRTC", Found: true, Path: lib.path, Version: fullVersion(lib)}
		if lib.hasPCH() {
			rtc.Detail = "with precompiled headers"
		}
	case errors.Is(err, dl.ErrUnsupported):
		rtc.Detail, rtc.Install = dl.ErrUnsupported.Error(), "a build without tag nogpu"
	default:
		rtc.Detail = "tried " + strings.Join(found.tried, ", ")
	}
	rtc.refused(found.refused)
	as := Part{Name: "ptxas", Install: install, Detail: "not found"}
	ptxas := findTool(ctx, cfg, places, "ptxas", ptxasDirs)
	if t := (&Toolchain{PTXAS: ptxas.path}); t.PTXAS != "" {
		as = Part{Name: "ptxas", Found: true, Path: t.PTXAS, Version: t.PTXASVersion(ctx)}
	}
	as.refused(ptxas.refused)
	headers := Part{Name: "headers", Install: install, Detail: "mma.h or crt/mma.h not found"}
	include := findHeaders(cfg, places, slices.Concat(found.refused, ptxas.refused))
	if dirs := include.dirs; dirs != nil {
		headers = Part{
			Name: "headers", Found: true, Path: strings.Join(dirs, string(os.PathListSeparator)),
			Version: headerVersion(dirs[0]),
		}
	}
	headers.refused(include.refused)
	return []Part{rtc, headers, as}
}

// refused adds what was found and not used. Where nothing else was found, consent to it is
// what gives the part.
func (p *Part) refused(list []error) {
	if len(list) == 0 {
		return
	}
	var texts []string
	for _, err := range list {
		texts = append(texts, err.Error())
	}
	if !p.Found {
		p.Detail = ""
		if r := (*trust.Refused)(nil); errors.As(list[0], &r) {
			p.Install = "tilescope trust " + r.Dir
		}
	} else if p.Detail != "" {
		p.Detail += "; "
	}
	p.Detail += "found, not trusted: " + strings.Join(texts, "; ")
}

var (
	ptxasRelease = regexp.MustCompile(`V(\d+\.\d+\.\d+)`)
	cudaVersion  = regexp.MustCompile(`#define CUDA_VERSION (\d+)`)
	libVersion   = regexp.MustCompile(`\d+\.\d+\.\d+`)
)

// PTXASVersion asks ptxas, "12.0.140"; "unknown" where it does not say, "" where there is no ptxas.
func (t *Toolchain) PTXASVersion(ctx context.Context) string {
	if t.PTXAS == "" {
		return ""
	}
	out, err := exec.CommandContext(ctx, t.PTXAS, "--version").Output()
	if m := ptxasRelease.FindSubmatch(out); err == nil && m != nil {
		return string(m[1])
	}
	return "unknown"
}

// Assembler names the ptxas with its version, "ptxas 12.0.140": two versions allot differently.
func (t *Toolchain) Assembler(ctx context.Context) string {
	return strings.TrimSpace("ptxas " + t.PTXASVersion(ctx))
}

// headerVersion reads CUDA_VERSION out of cuda.h: 12000 is 12.0.
func headerVersion(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "cuda.h"))
	m := cudaVersion.FindSubmatch(text)
	if err != nil || m == nil {
		return "unknown"
	}
	n := number(m[1])
	return versionString(n/1000, n%1000/10)
}
