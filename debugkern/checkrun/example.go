package checkrun

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/text"
)

// MissingLaunch refuses a kernel's file that is given without its launch, and has one to begin with.
type MissingLaunch struct {
	Option  string            // what is missing first: grid, block or arg
	Example *scaffold.Example // nil where the text shows no kernel
	// Of option arg: the parameters without a value, by index and as they are written, and what the entry
	// takes.
	Lacking []int
	Titles  []string
	Takes   string
	// Of option arg: names that were given and are no parameter's, and the parameters in order.
	Unknown    []string
	Parameters []Parameter
}

// Parameter is a parameter of an entry: its name, that of documents, and whether it is an address.
type Parameter struct {
	Name    string
	Pointer bool
}

// Adopted are the parameters of a file's launch that was adopted last, nil where none was.
func Adopted(s *debugkern.Session, file string) (out []Parameter) {
	m := s.Catalogue().Adopted(file)
	if m == nil {
		return nil
	}
	for i := range m.Args {
		out = append(out, Parameter{m.Args[i].Name, m.Args[i].Pointer})
	}
	return out
}

// Renamed are the names that were given and are no parameter's, each with the name that the parameter in its
// place has now; before has the parameters that the launch was given for. It is nil unless that accounts for
// every name and every parameter without a value.
func (e *MissingLaunch) Renamed(before []Parameter) map[string]string {
	out := map[string]string{}
	for _, name := range e.Unknown {
		i := slices.IndexFunc(before, func(p Parameter) bool { return p.Name == name })
		if i < 0 || !slices.Contains(e.Lacking, i) || before[i].Pointer != e.Parameters[i].Pointer {
			return nil
		}
		out[name] = e.Parameters[i].Name
	}
	if len(out) == 0 || len(out) != len(e.Lacking) {
		return nil
	}
	return out
}

// WithoutLaunch is the refusal of a file whose grid or block is missing, an error of CodeUsage. Nothing is
// compiled: the example is what the text shows.
func WithoutLaunch(ctx context.Context, path, entry, option string) error {
	return &report.Error{Code: report.CodeUsage,
		Err: &MissingLaunch{Option: option, Example: exampleOf(ctx, path, entry)}}
}

// exampleOf reads a kernel's text; nil where it cannot be read or shows no kernel.
func exampleOf(ctx context.Context, path, entry string) *scaffold.Example {
	src, err := build.ReadKernel(ctx, path)
	if err != nil {
		return nil
	}
	switch filepath.Ext(path) {
	case ".cu":
		return scaffold.SourceExample(scaffold.SourceOf(hostcode.Read(path, src)), entry)
	case ".ptx":
		m, err := ptx.ParseContext(ctx, path, src)
		if err != nil {
			return nil
		}
		found := build.Kernels(m, entry)
		if len(found) == 0 {
			return nil
		}
		e := scaffold.ModuleExample(found[0])
		if len(found) > 1 {
			e.Options = append([]string{"--entry", found[0].Name}, e.Options...)
			for _, o := range found[1:] {
				e.Others = append(e.Others, o.Name)
			}
		}
		return e
	}
	return nil
}

func (e *MissingLaunch) Error() string {
	if e.Option == "arg" {
		return e.lackingText()
	}
	s := fmt.Sprintf("--%s is missing; expected X[,Y[,Z]]", e.Option)
	if e.Example == nil {
		return s
	}
	p := e.Launch()
	how := "for example "
	if origin := p.Origin(); origin != "" {
		how = origin + ": "
	}
	return fmt.Sprintf("%s, and an --arg for each parameter of %s%s; %s%s", s, p.Kernel, p.Choice(), how,
		text.CommandLine(p.Options))
}

// lackingText says which parameters have no value, what the entry takes, and values to begin with.
func (e *MissingLaunch) lackingText() string {
	var wrong []string
	for _, name := range e.Unknown {
		wrong = append(wrong, "--arg "+name+": no such parameter")
	}
	if e.Lacking != nil {
		wrong = append(wrong, "no --arg for "+strings.Join(e.Titles, ", "))
	}
	s := fmt.Sprintf("%s; %s has %s", strings.Join(wrong, "; "), e.Example.Kernel, e.Takes)
	if e.Lacking == nil {
		return s
	}
	var values []string
	for _, i := range e.Lacking {
		values = append(values, e.Example.Options[2*i:2*i+2]...)
	}
	return s + "; for example " + text.CommandLine(values)
}

// Launch is what may be given in its place; without options where that is not known.
func (e *MissingLaunch) Launch() (p debugkern.ProposedLaunch) {
	if x := e.Example; x != nil {
		p = debugkern.ProposedLaunch{Options: x.Options, Kernel: x.Kernel, Line: x.Line, Guessed: x.Guessed,
			Random: x.Random, Device: x.Device(), Others: x.Others}
	}
	return p
}

// Launched are the options that a source shows of the launch that it makes of an entry itself (grid, block,
// and numbers that it passes), and its line; nil where it makes none, or does not show grid and block.
func Launched(ctx context.Context, path, entry string) (options []string, line int) {
	if filepath.Ext(path) != ".cu" {
		return nil, 0 // no host's code is in it
	}
	if e := exampleOf(ctx, path, entry); e != nil && e.Line > 0 {
		return e.Shown, e.Line
	}
	return nil, 0
}
