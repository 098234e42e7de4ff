package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platform is a system that the program is compiled for.
type platform struct {
	os, arch string
	nvml     bool // with cgo, and so with telemetry by NVML
}

// parsePlatform reads OS/ARCH or OS/ARCH+nvml.
func parsePlatform(name string) (platform, error) {
	pair, nvml := strings.CutSuffix(name, "+nvml")
	system, arch, ok := strings.Cut(pair, "/")
	if !ok || system == "" || arch == "" || nvml && system != "linux" {
		return platform{}, fmt.Errorf("expected OS/ARCH, or linux/ARCH+nvml")
	}
	return platform{system, arch, nvml}, nil
}

// suffix is the platform in names of files.
func (p platform) suffix() string {
	if p.nvml {
		return p.os + "_" + p.arch + "_nvml"
	}
	return p.os + "_" + p.arch
}

// executable is the name of the program's file.
func (p platform) executable() string {
	if p.os == "windows" {
		return "tilescope.exe"
	}
	return "tilescope"
}

// program is a compiled tilescope.
type program struct {
	content []byte
	bill    []byte // its bill of materials
}

// member is a file of an archive or a wheel.
type member struct {
	name       string
	content    []byte
	executable bool
}

// shell is a shell that completions are made for, and where its file is below share.
type shell struct{ name, file, share string }

var shells = []shell{
	{"bash", "tilescope.bash", "bash-completion/completions/tilescope"},
	{"zsh", "_tilescope", "zsh/site-functions/_tilescope"},
	{"fish", "tilescope.fish", "fish/vendor_completions.d/tilescope.fish"},
	{"powershell", "tilescope.ps1", ""},
}

// builder compiles and has what all platforms share.
type builder struct {
	dir         string // for what is compiled
	version     string
	time        time.Time // of every member
	manual      []byte
	completions map[string][]byte // by shell
}

// compile builds the program of a platform.
func (b *builder) compile(ctx context.Context, p platform) (*program, error) {
	out := filepath.Join(b.dir, p.suffix(), p.executable())
	cgo := "0"
	if p.nvml {
		cgo = "1"
	}
	if err := b.build(ctx, out, "CGO_ENABLED="+cgo, "GOOS="+p.os, "GOARCH="+p.arch); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	bill, err := output(ctx, "go", "run", "./debugkern/cli/internal/sbom", out, "docs/toolchain.txt")
	if err != nil {
		return nil, err
	}
	return &program{content, bill}, nil
}

// build runs the compiler. The linker's own ids would depend on where it runs; sums identify what is built.
func (b *builder) build(ctx context.Context, out string, env ...string) error {
	flags := "-s -w -buildid= -B none"
	if b.version != "" {
		flags += " -X main.version=" + b.version
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", flags, "-o", out, ".")
	c.Env = append(os.Environ(), env...)
	c.Stderr = os.Stderr
	return c.Run()
}

// documents makes the manual page and the completions, from the command tables of this machine's own build.
func (b *builder) documents(ctx context.Context) error {
	own := filepath.Join(b.dir, "own", "tilescope")
	if err := b.build(ctx, own); err != nil {
		return err
	}
	var err error
	if b.manual, err = output(ctx, own, "man"); err != nil {
		return err
	}
	b.completions = map[string][]byte{}
	for _, s := range shells {
		if b.completions[s.name], err = output(ctx, own, "completion", s.name); err != nil {
			return err
		}
	}
	return nil
}

// members are the files of an archive, in its folder.
func (b *builder) members(p platform, built *program) ([]member, error) {
	out := []member{
		{p.executable(), built.content, true},
		{"sbom.json", built.bill, false},
		{"man/man1/tilescope.1", b.manual, false},
	}
	for _, s := range shells {
		out = append(out, member{path.Join("completions", s.file), b.completions[s.name], false})
	}
	for _, name := range []string{"README.md", "LICENSE"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, member{name, content, false})
	}
	return out, nil
}

// output is what a command prints.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var problem bytes.Buffer
	c.Stderr = &problem
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err,
			strings.TrimSpace(problem.String()))
	}
	return out, nil
}

// commitTime is when the commit was made that is built, or SOURCE_DATE_EPOCH where that is given.
func commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := output(ctx, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("the commit's time: %w (or set SOURCE_DATE_EPOCH)", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: expected seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
