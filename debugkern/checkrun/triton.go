package checkrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/argument"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/child"
	"tilescope/debugkern/file"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/trust"
	"tilescope/probes"
	"tilescope/python"
)

// TritonRequest asks for a launch of a kernel that is written in Python for Triton.
type TritonRequest struct {
	File, Kernel string
	Args         []Argument // constexprs among them
	Grid         probes.Dim3
	Arch         string            // "": sm_80
	Options      map[string]string // of Triton's compiler: num_warps, num_stages
	Seed         uint64            // of generated arguments
}

// Triton is a kernel that was compiled.
type Triton struct {
	Bundle []byte // a launch with the request's arguments (package bundle)
	Note   string // what of the request was decided by Triton's decorators; "" for nothing
}

// maxBundle is the most bytes that a bundle may have that Python writes.
const maxBundle = 8 << 30

// CompileTriton imports the user's file with the Python that PATH has, compiles the kernel for an
// architecture, with no GPU, and returns the bundle of a launch with the arguments. The file's folder must be
// trusted. say is called with each line that Python prints; nil: with none. The error is a *report.Error:
// CodeUsage for a file, kernel or argument that does not fit, CodeUnavailable where Python or Triton is
// missing or not trusted, CodeFailed where Triton refuses the kernel.
func CompileTriton(
	ctx context.Context, s *debugkern.Session, req TritonRequest, say func(line string),
) (*Triton, error) {
	x := &tritonCompile{s: s, ctx: ctx, req: req}
	defer func() { x.reserved.Release() }()
	out, err := x.compile(say)
	if err != nil {
		return nil, debugkern.Explain(ctx, err)
	}
	return out, nil
}

// tritonCompile is a compilation under way.
type tritonCompile struct {
	s        *debugkern.Session
	ctx      context.Context
	dir      string // for what Python is given, and writes
	req      TritonRequest
	reserved budget.Reservations
}

// importer is the program that Python executes: the package's folder and the request are its arguments.
const importer = "import sys; sys.path.insert(0, sys.argv[1]); " +
	"from tilescope import _compile; _compile.main(sys.argv[2])"

func (x *tritonCompile) compile(say func(line string)) (*Triton, error) {
	interpreter, err := x.interpreter()
	if err != nil {
		return nil, err
	}
	if x.dir, err = os.MkdirTemp("", "tilescope-triton-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(x.dir)
	if err := os.CopyFS(x.dir, python.Files()); err != nil {
		return nil, err
	}
	request, err := x.write()
	if err != nil {
		return nil, err
	}
	argv := []string{interpreter, "-B", "-c", importer, x.dir, request}
	if err := child.Run(x.ctx, child.Command{Argv: argv, Printed: say, MaxFile: maxBundle}); err != nil {
		if x.ctx.Err() != nil {
			return nil, err
		}
		err = fmt.Errorf("%s: compile %s: Python: %w", x.req.File, x.req.Kernel, err)
		return nil, &report.Error{Code: report.CodeFailed, Err: err}
	}
	return x.answer()
}

// interpreter finds Python, and refuses what is not trusted.
func (x *tritonCompile) interpreter() (string, error) {
	if _, err := os.Stat(x.req.File); err != nil {
		return "", report.Usagef("the Python file: %w", err)
	}
	script, err := filepath.Abs(x.req.File)
	if err != nil {
		return "", err
	}
	policy := x.s.Builder().Tools().Trust
	if err := policy.Folder(filepath.Dir(script)); err != nil {
		return "", report.Unavailablef("compiling it imports %s, which executes it: %w", script, err)
	}
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		dir := filepath.Dir(path)
		refused := policy.Allow(x.ctx, trust.Environment, dir, path)
		if refused != nil && policy.Folder(dir) != nil {
			return "", report.Unavailablef("%w", refused)
		}
		return path, nil
	}
	return "", report.Unavailablef(
		"a kernel of Triton's needs Python with Triton (pip install triton), and PATH has no python3")
}

// tritonArg is an argument as _compile.py reads it. Kind is memory, number or null; Data the path of a
// memory's contents, nil: unwritten.
type tritonArg struct {
	Kind  string  `json:"kind"`
	Text  string  `json:"text,omitempty"`
	DType *string `json:"dtype"`
	Dims  []int   `json:"dims,omitempty"`
	Data  *string `json:"data"`
}

// write writes the request and the contents of memory to the folder, and returns the request's path.
func (x *tritonCompile) write() (string, error) {
	script, err := filepath.Abs(x.req.File)
	if err != nil {
		return "", err
	}
	arch := cmp.Or(x.req.Arch, "sm_80")
	if err := configs.CheckValue("arch", arch); err != nil {
		return "", report.Usagef("--arch %s: expected %s", arch, configs.Expected("arch"))
	}
	options := map[string]any{}
	for name, value := range x.req.Options {
		var number any = value
		if json.Unmarshal([]byte(value), &number) != nil {
			number = value
		}
		options[name] = number
	}
	args := map[string]tritonArg{}
	for i, a := range x.req.Args {
		if _, twice := args[a.Name]; twice {
			return "", report.Usagef("--arg %s: given twice", a.Name)
		}
		if args[a.Name], err = x.argument(i, a); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{
		"file": script, "kernel": x.req.Kernel, "arch": arch, "options": options, "grid": x.req.Grid,
		"args": args, "out": x.path("launch.tsl"), "answer": x.path("answer.json"),
	})
	if err != nil {
		return "", err
	}
	return x.path("request.json"), os.WriteFile(x.path("request.json"), text, 0o600)
}

func (x *tritonCompile) path(name string) string { return filepath.Join(x.dir, name) }

// argument makes an argument's contents, by the same rules as check's.
func (x *tritonCompile) argument(i int, given Argument) (tritonArg, error) {
	v, err := argument.Parse(given.Value)
	if err != nil {
		return tritonArg{}, report.Usagef("--arg %s: %w", given.Name, err)
	}
	switch {
	case v.Null:
		return tritonArg{Kind: "null"}, nil
	case v.Fields != nil, v.Map != nil:
		return tritonArg{}, report.Usagef("--arg %s: Triton's arguments are numbers and memory", given.Name)
	case v.Number != nil:
		out := tritonArg{Kind: "number", Text: v.Number.Text}
		if t := v.Number.DType; t != 0 {
			name := t.String()
			out.DType = &name
		}
		return out, nil
	}
	a := &arg{
		param: &ptx.Var{Name: given.Name, Size: 8}, inferred: scaffold.Parameter{Name: given.Name},
		index: i, name: given.Name, text: given.Value, value: v,
	}
	memory := x.s.Memory()
	if err := x.reserved.Add(memory, "argument "+a.name, budget.Mul(2, a.bytes())); err != nil {
		return tritonArg{}, err
	}
	if err := a.settle(x.ctx, memory, x.req.Seed); err != nil {
		return tritonArg{}, err
	}
	name := a.dtype.String()
	out := tritonArg{Kind: "memory", DType: &name, Dims: a.dims}
	if a.init != nil {
		data := x.path(fmt.Sprintf("%d.bin", i))
		if err := os.WriteFile(data, a.init, 0o600); err != nil {
			return tritonArg{}, err
		}
		out.Data = &data
	}
	return out, nil
}

// answer reads what Python wrote.
func (x *tritonCompile) answer() (*Triton, error) {
	var answer struct {
		Error *struct{ Kind, Message string } `json:"error"`
		Note  string                          `json:"note"`
	}
	text, err := os.ReadFile(x.path("answer.json"))
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		err = fmt.Errorf("%s: Python ended without an answer: %w", x.req.File, err)
		return nil, &report.Error{Code: report.CodeFailed, Err: err}
	}
	if e := answer.Error; e != nil {
		err := errors.New(strings.TrimSpace(e.Message))
		switch e.Kind {
		case "usage":
			return nil, report.Usagef("%w", err)
		case "missing":
			return nil, report.Unavailablef("%w", err)
		}
		failed := &report.KernelError{Stage: "build", Source: x.place(e.Message),
			Err: fmt.Errorf("%s: compile %s: %w", x.req.File, x.req.Kernel, err)}
		return nil, &report.Error{Code: report.CodeFailed, Err: failed}
	}
	content, err := file.Read(x.ctx, x.path("launch.tsl"), x.s.Memory().Bound(), file.Want{What: "a bundle"})
	if err != nil {
		return nil, report.Unread("read the bundle:", err)
	}
	return &Triton{Bundle: content, Note: answer.Note}, nil
}

// tritonPlace is a place in a kernel's text as Triton names it: line and column, from the line of its def on.
var tritonPlace = regexp.MustCompile(`\bat (\d+):\d+:`)

// place is the line of the file that a message of Triton's names; nil where it names none.
func (x *tritonCompile) place(message string) *report.Source {
	at := tritonPlace.FindStringSubmatch(message)
	text, err := build.ReadText(x.ctx, x.req.File, "a source")
	if at == nil || err != nil {
		return nil
	}
	def := regexp.MustCompile(`^\s*def\s+` + regexp.QuoteMeta(x.req.Kernel) + `\s*\(`)
	for i, line := range strings.Split(string(text), "\n") {
		if n, err := strconv.Atoi(at[1]); err == nil && def.MatchString(line) {
			return &report.Source{File: filepath.Base(x.req.File), Line: i + n}
		}
	}
	return nil
}
