package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// planSchema names the layout of a folder's plan, and maxPlan its largest size.
const (
	planSchema = "tilescope.sweep-plan/2"
	maxPlan    = 64 << 20
)

// planEntry is PlanFile. It lists combinations, each of which has a run for every seed of the plan: a plan
// of many seeds stays small.
type planEntry struct {
	Schema       string  `json:"schema"`
	Key          string  `json:"key"`
	Plan         PlanDoc `json:"plan"`
	Combinations []Spec  `json:"combinations"` // with Seed 0

	runs []Spec // all of them, made by readPlan
}

// line is one result in a file of results.
type line struct {
	Run    string  `json:"run"` // Spec.id
	Key    string  `json:"key"` // of the plan
	Error  string  `json:"error,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// folder is a sweep's folder, opened for adding results: one file for each process, to which whole lines
// are appended, so that a process which is killed leaves at most its last line behind, unfinished.
type folder struct {
	mu      sync.Mutex
	dir     string
	key     string
	results *os.File
	log     *os.File
	unlock  func()
}

// open makes a plan's folder, or goes on in it. One process at a time works on a part. A folder of another
// plan is a *report.Error with CodeUsage.
func (p *Plan) open(ctx context.Context, files *file.System, dir, part string) (*folder, error) {
	if err := files.Mkdir(filepath.Join(dir, resultsDir), 0o755); err != nil {
		return nil, err
	}
	unlock, err := files.Lock(filepath.Join(dir, resultsDir, part+".lock"))
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir, key: p.Key, unlock: unlock}
	if err := p.claim(ctx, files, dir); err != nil {
		f.close()
		return nil, err
	}
	add := func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	}
	if f.results, err = add(filepath.Join(resultsDir, part+".jsonl")); err == nil {
		f.log, err = add(LogFile)
	}
	if err == nil {
		err = f.endLine()
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("the folder of the sweep: %w", err)
	}
	return f, nil
}

// claim writes the plan into a folder that has none, and compares it with the one that is there.
func (p *Plan) claim(ctx context.Context, files *file.System, dir string) error {
	path := filepath.Join(dir, PlanFile)
	have, err := readPlan(ctx, dir)
	switch {
	case err == nil && have.Key != p.Key:
		return report.Usagef("%s has another plan, of %d runs: give another folder to --out, or remove it", dir,
			have.Plan.Runs)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	e := planEntry{Schema: planSchema, Key: p.Key, Plan: p.Doc, Combinations: []Spec{}}
	for i := 0; i < len(p.Runs); i += len(p.Doc.Seeds) {
		s := p.Runs[i]
		s.Seed = 0
		e.Combinations = append(e.Combinations, s)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	return files.Write(path, append(b, '\n'), 0o644)
}

// readPlan reads the plan of a folder.
func readPlan(ctx context.Context, dir string) (*planEntry, error) {
	path := filepath.Join(dir, PlanFile)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	b, err := file.Read(ctx, path, maxPlan, file.Want{What: "the plan of a sweep"})
	if err != nil {
		return nil, err
	}
	var e planEntry
	if err := json.Unmarshal(b, &e); err != nil || e.Schema != planSchema ||
		len(e.Combinations)*len(e.Plan.Seeds) != e.Plan.Runs {
		return nil, report.Usagef("%s is no plan of a sweep (schema %s)", path, planSchema)
	}
	e.runs = make([]Spec, 0, e.Plan.Runs)
	for _, s := range e.Combinations {
		for _, seed := range e.Plan.Seeds {
			s.Seed = seed
			e.runs = append(e.runs, s)
		}
	}
	return &e, nil
}

// endLine ends a line that a process which was killed has left unfinished.
func (f *folder) endLine() error {
	r, err := os.Open(f.results.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	end, err := r.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	var last [1]byte
	if _, err := r.ReadAt(last[:], end-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.results.Write([]byte{'\n'})
	return err
}

// add appends a line.
func (f *folder) add(l line) error {
	l.Key = f.key
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.results.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write a result: %w", err)
	}
	return nil
}

// note appends to the log, which has what depends on time and place: when each run was tried, and how it
// ended.
func (f *folder) note(s *Spec, try int, took time.Duration, end string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// the log is for people: a full disk shows in results
	fmt.Fprintf(f.log, "%s %s: try %d, %s: %s\n", time.Now().UTC().Format(time.RFC3339), s.Name(), try,
		took.Round(time.Millisecond), end)
}

func (f *folder) close() {
	for _, x := range []*os.File{f.results, f.log} {
		if x != nil {
			x.Close()
		}
	}
	f.unlock()
}

// results reads all results of a plan in a folder, by Spec.id. Lines that no sweep of this plan has
// written, and unfinished ones, count for nothing: their runs are made again. Of several results of a run
// one is taken that is no failure. Files whose names skip reports are not read; nil: all are.
func results(dir, key string, skip func(name string) bool) (map[string]line, error) {
	out := map[string]line{}
	same := sharing{key: key, combinations: map[string]Spec{}}
	names, err := filepath.Glob(filepath.Join(dir, resultsDir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if skip != nil && skip(filepath.Base(name)) {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("results of the sweep: %w", err)
		}
		in := bufio.NewReader(f)
		for {
			text, err := in.ReadBytes('\n')
			var l line
			if whole := bytes.HasSuffix(text, []byte{'\n'}); whole && json.Unmarshal(text, &l) == nil &&
				l.Key == key && (l.Result != nil) != (l.Error != "") &&
				(l.Result == nil || l.Result.id() == l.Run) {
				if old, have := out[l.Run]; !have || old.Result == nil {
					same.line(&l)
					out[l.Run] = l
				}
			}
			if err == io.EOF {
				break
			} else if err != nil {
				f.Close()
				return nil, fmt.Errorf("results of the sweep: %w", err)
			}
		}
		f.Close()
	}
	return out, nil
}

// sharing makes lines of one plan refer to the same values where they are equal: of 10^6 lines, most are.
type sharing struct {
	key          string
	combinations map[string]Spec // by name, with Seed 0
}

func (s *sharing) line(l *line) {
	l.Key = s.key
	if l.Result == nil {
		return
	}
	spec := l.Result.Spec
	spec.Seed = 0
	name := spec.Name()
	have, ok := s.combinations[name]
	if !ok {
		s.combinations[name], have = spec, spec
	}
	have.Seed = l.Result.Seed
	l.Result.Spec = have
}
