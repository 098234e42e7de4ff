// Command dist builds tilescope for every platform that it is named, and writes what is given to others: an
// archive and a Python wheel of each, their bills of materials, and SHA256SUMS.
//
// The one idea: every byte follows from the commit, the Go toolchain and, for builds with telemetry, the C
// compiler. Paths are trimmed, times are the commit's, members are in a fixed order; so who builds the same
// commit with the same tools can compare sums. What a wheel says of the system that it needs (glibc 2.34,
// macOS 12) is read from the program in it.
//
//	dist [-wheels] [-out DIR] [-version VERSION] OS/ARCH[+nvml]…
//
// OS/ARCH is compiled without cgo. OS/ARCH+nvml, of this machine's own platform, is compiled with it, and so
// has telemetry by NVML. It is executed in the repository's root.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsFile lists the SHA-256 of every file in the output's folder, as sha256sum -c reads it.
const sumsFile = "SHA256SUMS"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

// options are what the command line asks for.
type options struct {
	out     string
	version string // that the program prints
	wheels  bool   // wheels alone
}

func run(ctx context.Context, args []string) error {
	var o options
	f := flag.NewFlagSet("dist", flag.ContinueOnError)
	f.StringVar(&o.out, "out", "dist", "folder that is written; what is in it of an earlier run is replaced")
	f.StringVar(&o.version, "version", "", "version that the program prints")
	f.BoolVar(&o.wheels, "wheels", false, "wheels alone, no archives")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return errors.New("usage: dist [-wheels] [-out DIR] [-version VERSION] OS/ARCH[+nvml]…")
	}
	project, err := readProject("python")
	if err != nil {
		return err
	}
	b := &builder{version: o.version}
	if b.dir, err = os.MkdirTemp("", "tilescope-dist-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.time, err = commitTime(ctx); err != nil {
		return err
	}
	if err := b.documents(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, name := range f.Args() {
		if err := o.platform(ctx, b, project, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return writeSums(o.out)
}

// platform builds one platform and writes its files.
func (o *options) platform(ctx context.Context, b *builder, project *project, name string) error {
	p, err := parsePlatform(name)
	if err != nil {
		return err
	}
	program, err := b.compile(ctx, p)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	wheel, content, err := project.wheel(p, program, b)
	if err != nil {
		return err
	}
	files[wheel] = content
	if !o.wheels {
		base := fmt.Sprintf("tilescope_%s_%s", project.Version, p.suffix())
		archive, content, err := pack(base, p, program, b)
		if err != nil {
			return err
		}
		files[archive] = content
		files[base+".sbom.json"] = program.bill
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(o.out, file), content, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s  %d bytes\n", filepath.Join(o.out, file), len(content))
	}
	return nil
}

// writeSums lists the digests of a folder's files there.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(strings.Join(lines, "")), 0o644)
}
