// Command ptxgen builds kernels/ptx.archive: every build that the catalogue promises without a compiler on
// the user's machine. It is run from the repository's root by `make ptx`.
//
//	ptxgen                    build the entries that are missing or out of date, and write the archive
//	ptxgen -check             build everything, and fail where the archive in the tree differs
//	ptxgen -check -sample N   the same, but build one in N, another sample for another archive
//	ptxgen -v                 also report what each variant costs, by ptxas
//
// It needs the pinned toolchain; another compiler version is refused, because entries would differ from
// machine to machine.
package main

import (
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
	arch   = "sm_80" // where a manifest names none
)

// compileCommand makes this program a process that compiles for another of its kind: NVRTC lets one thread of
// a process at a time read a source, so that on several cores several processes are faster.
const compileCommand = "__compile"

var archivePath = filepath.Join("kernels", "ptx.archive")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) == 2 && os.Args[1] == compileCommand {
		os.Exit(cuda.CompilerMain(ctx, os.Stdin, os.Stdout, 0))
	}
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
	oneIn := flags.Int("sample", 1, "with -check: build one in so many")
	verbose := flags.Bool("v", false, "report registers, shared memory and spills of each variant")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *oneIn < 1 || *oneIn > 1 && !*check {
		return fmt.Errorf("-sample %d: expected a number from 1 on, with -check", *oneIn)
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("run it from the repository's root")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tc, err := cuda.FindToolchain(ctx, cuda.Config{Root: ".", Compiler: []string{self, compileCommand}})
	if err != nil {
		return fmt.Errorf("%w; pip install --target .toolchain %s", err, cuda.Wheels)
	}
	defer tc.Close()
	if tc.Compiler() != pinned {
		return fmt.Errorf("%s at %s is not the pinned compiler (%s); pip install --target .toolchain %s",
			tc.Compiler(), tc.NVRTC, pinned, cuda.Wheels)
	}
	catalogue, err := configs.Kernels()
	if err != nil {
		return err
	}
	jobs, err := plan(catalogue)
	if err != nil {
		return err
	}
	if *verbose {
		if err := costs(ctx, out, tc, jobs); err != nil {
			return err
		}
	}
	if *check {
		return compare(ctx, out, tc, jobs, *oneIn)
	}
	return write(ctx, out, tc, jobs)
}

// write brings the archive in the tree up to date.
func write(ctx context.Context, out io.Writer, tc *cuda.Toolchain, jobs []job) error {
	start := time.Now()
	texts, err := build(ctx, tc, jobs, written())
	if err != nil {
		return err
	}
	w, err := pack(jobs, texts)
	if err != nil {
		return err
	}
	archive, err := w.Bytes()
	if err != nil {
		return err
	}
	n, size := w.Texts()
	fmt.Fprintf(out, "%d builds, %d distinct, %.1f MB of PTX in an archive of %.0f KB, %.1f s\n", len(jobs),
		n, float64(size)/1e6,
		float64(len(archive))/1e3, time.Since(start).Seconds())
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
