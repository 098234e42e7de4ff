package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Plan is the runs of a sweep, in their order: by target, shape, gate, flags, fault and seed.
type Plan struct {
	Doc PlanDoc
	// Key is a digest of all that the results depend on: the runs, the other options, the kernels' code and
	// the program.
	Key  string
	Runs []Spec
	base debugkern.Request
}

// Name is a run in words, as on a command line.
func (s *Spec) Name() string {
	words := []string{s.Target, "--shape", s.Shape, "--seed", fmt.Sprint(s.Seed)}
	if s.Gate != probes.GateNone.String() {
		words = append(words, "--gate", s.Gate)
	}
	for _, f := range s.Faults {
		words = append(words, "--fault", f)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Flags)) {
		words = append(words, "--set", fmt.Sprintf("%s=%d", name, s.Flags[name]))
	}
	return strings.Join(words, " ")
}

// id is the run's name in results: it is the same in every plan that has the run.
func (s *Spec) id() string { return digest(s.Name())[:20] }

// request is the run as a session takes it.
func (p *Plan) request(s *Spec) debugkern.Request {
	req := p.base
	req.Target, req.Shape, req.Seed, req.Gate = s.Target, s.Shape, s.Seed, probes.GateNamed(s.Gate)
	req.Faults, req.Set = slices.Clone(s.Faults), map[string]string{}
	for name, v := range s.Flags {
		req.Set[name] = fmt.Sprint(v)
	}
	return req
}

// Make lists the runs of a sweep. What a target's manifest refuses of a combination is skipped, with the
// reason; a sweep of which nothing is left is refused. Errors are those of Runner.Describe that are not the
// combination's own, and of Runner.BuildInfo.
func Make(ctx context.Context, r Runner, o *Options) (*Plan, error) {
	flags, err := o.allFlags()
	if err != nil {
		return nil, err
	}
	p := &Plan{base: o.Request, Doc: PlanDoc{
		Targets: o.Targets, Shapes: o.Shapes, Seeds: o.Seeds, Gates: o.Gates, Flags: flags,
		Faults: slices.Clone(o.Faults), Skipped: []Skipped{},
	}}
	p.base.Faults, p.base.Set = nil, nil // they are in each Spec
	var builds []string
	for _, target := range o.Targets {
		faults, err := o.faultsOf(target)
		if err != nil {
			return nil, err
		}
		// nil: the target can be opened, so that what refuses a combination is the combination's own
		unknown := sync.OnceValue(func() error {
			_, err := r.Describe(ctx, debugkern.Request{Target: target})
			return err
		})
		for _, shape := range o.Shapes {
			for _, gate := range o.Gates {
				for _, flags := range combinations(flags) {
					for _, fault := range faults {
						s := Spec{Target: target, Shape: shape, Gate: gate, Faults: fault, Flags: flags}
						if err := p.add(ctx, r, s, unknown); err != nil {
							return nil, err
						}
					}
				}
			}
		}
		b, err := p.code(ctx, r, target)
		if err != nil {
			return nil, err
		}
		builds = append(builds, b)
	}
	if p.Doc.Runs = len(p.Runs); len(p.Runs) == 0 {
		first := p.Doc.Skipped[0]
		return nil, report.Usagef("no run of this sweep can be: %s on %s: %s", first.Target, first.Shape,
			first.Reason)
	}
	base := p.base
	base.Timeout = 0
	b, err := json.Marshal([]any{
		Schema, p.Doc, base, builds, o.Tool.Version, o.Tool.Commit, o.Tool.Executable,
	})
	if err != nil {
		return nil, fmt.Errorf("digest of the plan: %w", err)
	}
	p.Key = digest(string(b))
	return p, nil
}

// add appends a combination's runs, one for each seed, or notes why it cannot be. Where the target cannot be
// opened at all (unknown), that is add's error.
func (p *Plan) add(ctx context.Context, r Runner, s Spec, unknown func() error) error {
	_, err := r.Describe(ctx, p.request(&s))
	var coded *report.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &coded) && coded.Code == report.CodeUsage && unknown() == nil:
		p.Doc.Skipped = append(p.Doc.Skipped, Skipped{
			s.Target, s.Shape, s.Gate, s.Faults, s.Flags, err.Error(),
		})
		return nil
	case err != nil:
		return err
	}
	for _, seed := range p.Doc.Seeds {
		s.Seed = seed
		p.Runs = append(p.Runs, s)
	}
	return nil
}

// code identifies what a target executes.
func (p *Plan) code(ctx context.Context, r Runner, target string) (string, error) {
	for i := range p.Runs {
		if p.Runs[i].Target != target {
			continue
		}
		b, err := r.BuildInfo(ctx, p.request(&p.Runs[i]))
		var coded *report.Error
		if errors.As(err, &coded) && coded.Code == report.CodeFailed {
			return err.Error(), nil // every run says so
		} else if err != nil {
			return "", err
		}
		text, err := os.ReadFile(target)
		if err != nil {
			text = nil // of the catalogue
		}
		return b.PTXSHA256 + b.InstrumentedSHA256 + digest(string(text)), nil
	}
	return "", nil
}

// allFlags returns the values of every flag: those of o.Flags, and one for each flag that the request sets
// and o.Flags does not.
func (o *Options) allFlags() (map[string][]int, error) {
	out := map[string][]int{}
	for name, text := range o.Request.Set {
		v, err := configs.FlagValue(text)
		if err != nil {
			return nil, report.Usagef("flag %s: expected a whole number, true or false, found %q", name, text)
		}
		out[name] = []int{v}
	}
	maps.Copy(out, o.Flags)
	return out, nil
}

// faultsOf lists the faults of a target's runs, each as the list that a run takes: the request's, and one of
// o.Faults. A combination that two of them come to is listed once.
func (o *Options) faultsOf(target string) ([][]string, error) {
	var out [][]string
	add := func(more ...string) {
		list := []string{}
		for _, name := range append(slices.Clone(o.Request.Faults), more...) {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		if !slices.ContainsFunc(out, func(x []string) bool { return slices.Equal(x, list) }) {
			out = append(out, list)
		}
	}
	for _, f := range o.Faults {
		switch f {
		case NoFault:
			add()
		case EachFault:
			names, err := o.FaultsOf(target)
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				add(n)
			}
		default:
			add(f)
		}
	}
	return out, nil
}

// combinations lists every choice of one value for each flag, the first flag by name changing last.
func combinations(flags map[string][]int) []map[string]int {
	out := []map[string]int{{}}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		var next []map[string]int
		for _, have := range out {
			for _, v := range flags[name] {
				one := maps.Clone(have)
				one[name] = v
				next = append(next, one)
			}
		}
		out = next
	}
	return out
}

// Shard lists the indices of the runs of part i of n: every n-th, so that parts take as long.
func (p *Plan) Shard(i, n int) []int {
	var out []int
	for at := i; at < len(p.Runs); at += n {
		out = append(out, at)
	}
	return out
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// resultOf is what a finished run leaves in the document.
func resultOf(s Spec, r *report.Run) Result {
	out := Result{
		Spec: s, Verdict: r.Verdict, Exit: r.ExitCode(), Guilty: []string{}, Findings: []Finding{},
		Digest: r.Digest,
	}
	for _, g := range r.Guilty {
		if !slices.Contains(out.Guilty, g.Stage) {
			out.Guilty = append(out.Guilty, g.Stage)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if x := (Finding{f.Kind, f.Variable}); f.Severity == "error" && f.Suppressed == "" &&
			!slices.Contains(out.Findings, x) {
			out.Findings = append(out.Findings, x)
		}
	}
	slices.SortFunc(out.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Variable, b.Variable))
	})
	return out
}
