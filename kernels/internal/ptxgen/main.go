// Command ptxgen builds kernels/ptx.archive: every build that the catalogue promises without a compiler on the user's
// machine. It is run from the repository's root by `make ptx`.
//
//	ptxgen          build what is not in the archive as it is asked for, and write the archive
//	ptxgen -check   build everything, and fail where the archive in the tree differs
//	ptxgen -v       also report what each variant costs, by ptxas
//
// It needs the pinned toolchain; another compiler version is refused, because entries would differ from machine to machine.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
	"tilescope/kernels"
)

// The compiler whose PTX every driver from 525 up and every GPU from Ampere up can load.
const (
	pinned = "NVRTC 12.0.140"
	arch   = "sm_80"
)

var archivePath = filepath.Join("kernels", "ptx.archive")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "ptxgen:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ptxgen", flag.ContinueOnError)
	check := flags.Bool("check", false, "compare with the archive in the tree, write nothing")
	verbose := flags.Bool("v", false, "report registers, shared memory and spills of each variant")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it from the repository's root")
	}
	tc, err := cuda.FindToolchain(ctx, cuda.Config{Root: "."})
	if err != nil {
		return fmt.Errorf("%w; pip install --target .toolchain %s", err, cuda.Wheels)
	}
	if tc.Compiler() != pinned {
		return fmt.Errorf("%s at %s is not the pinned compiler (%s); pip install --target .toolchain %s", tc.Compiler(), tc.NVRTC, pinned, cuda.Wheels)
	}
	catalogue, err := configs.Kernels()
	if err != nil {
		return err
	}
	jobs, err := plan(catalogue)
	if err != nil {
		return err
	}
	var old *kernels.Archive
	if !*check {
		old = written()
	}
	start := time.Now()
	w, err := build(ctx, tc, jobs, old)
	if err != nil {
		return err
	}
	archive, err := w.Bytes()
	if err != nil {
		return err
	}
	if *verbose {
		if err := costs(ctx, out, tc, jobs); err != nil {
			return err
		}
	}
	texts, size := w.Texts()
	fmt.Fprintf(out, "%d builds, %d distinct, %.1f MB of PTX in an archive of %.0f KB, %.1f s\n", len(jobs), texts, float64(size)/1e6,
		float64(len(archive))/1e3, time.Since(start).Seconds())
	if *check {
		return compare(archive)
	}
	return os.WriteFile(archivePath, archive, 0o644)
}

// written is the archive in the tree; nil where there is none that can be read, which is then written anew.
func written() *kernels.Archive {
	data, err := os.ReadFile(archivePath)
	if err != nil {
		return nil
	}
	a, err := kernels.ReadArchive(data)
	if err != nil {
		return nil
	}
	return a
}

// compare reports the first difference between the tree's archive and the one just built.
func compare(built []byte) error {
	old, err := os.ReadFile(archivePath)
	if err != nil {
		return err
	}
	if bytes.Equal(old, built) {
		return nil
	}
	have, err := kernels.ReadArchive(old)
	if err != nil {
		return fmt.Errorf("%s: %w", archivePath, err)
	}
	want, err := kernels.ReadArchive(built)
	if err != nil {
		return err
	}
	for _, key := range want.Keys() {
		w, _, err := want.Find(key)
		if err != nil {
			return err
		}
		h, ok, err := have.Find(key)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", archivePath, err)
		case !ok:
			return fmt.Errorf("%s lacks %s: run make ptx", archivePath, key)
		case h.Digest != w.Digest || !bytes.Equal(h.PTX, w.PTX):
			return fmt.Errorf("%s: %s is out of date: run make ptx", archivePath, key)
		}
	}
	return fmt.Errorf("%s holds builds that the catalogue does not ask for, or another order: run make ptx", archivePath)
}
