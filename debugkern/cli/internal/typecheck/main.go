// Command typecheck type-checks every package of the module, tests among them, as each platform that it is
// named would build it, and prints the errors.
//
// The one idea: what differs from platform to platform is which files are compiled and what they declare, and
// the type checker sees all of that. It reads the sources of the dependencies too, generates no code and
// links nothing, so that a platform costs seconds where a build costs a minute.
//
//	typecheck [-tags TAGS] OS/ARCH…
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "typecheck: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("typecheck", flag.ContinueOnError)
	tags := flags.String("tags", "", "build tags")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var failed error
	for _, platform := range flags.Args() {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%s: expected OS/ARCH", platform)
		}
		fmt.Fprintln(w, strings.TrimSpace("type-check "+platform+" "+*tags))
		failed = errors.Join(failed, check(".", goos, goarch, *tags))
	}
	return failed
}

// check type-checks the packages under a directory for a platform, without cgo. Bodies of the functions of
// dependencies are not read.
func check(dir, goos, goarch, tags string) error {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Dir:        dir,
		Env:        append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=" + tags},
		Tests:      true,
	}, "./...")
	if err != nil {
		return err
	}
	if len(roots) == 0 {
		return errors.New("no packages")
	}
	var failed error
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			failed = errors.Join(failed, e)
		}
	})
	return failed
}
