package record

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Launch is a recorded launch as the library wrote it: Files are paths.
type Launch struct {
	Kernel, Call string // the kernel's name, and the driver's function
	Arch         int    // of the GPU: 90 for sm_90
	Grid, Block  probes.Dim3
	Cluster      probes.Dim3
	Shared       int
	Cooperative  bool
	Image        string // file of the module's image, "" where its load was not seen
	Load         string // the driver's function that loaded it
	Library      string // the program's library that the image lies in, "" for none
	Parameters   [][]byte
	Words        []Word
	Extents      []Extent
	Tensors      []Tensor
	Versions     map[string]string
	Maps         []Map
	// Unfinished is why memory after the launch is not known; "" where it is.
	Unfinished string
}

// Word is 8 bytes of a parameter that are an address of an extent.
type Word struct {
	Parameter, At int
	Address       uint64
	Extent        int
}

// Map is a tensor map at a byte of a parameter, as it was given to cuTensorMapEncodeTiled.
type Map struct {
	Parameter, At, Extent int
	Address               uint64
	tensormap.Map
}

// Extent is memory that an address led to, with files of its contents. Known: the program's allocator gave it
// out as it is; else it is an allocation of the driver, which may hold more than one tensor.
type Extent struct {
	Address       uint64
	Bytes         int64
	Known         bool
	Before, After string
}

// Tensor is a tensor of the program's: strides in elements.
type Tensor struct {
	Address       uint64
	DType         string
	Storage       uint64
	Bytes         int64
	Dims, Strides []int
}

// log is what the processes of a program wrote.
type log struct {
	launched  *Launch
	begun     bool // memory before the launch is written
	recorded  bool // and after it
	processes int
	fails     []string // "what\tcode"
	trouble   []string // lines nocupti, subscriber, nodriver
	captured  []string // kernels that match and were launched during stream capture
	matched   int
	graphs    int
}

// errEvents is a log that does not conform: the process may have been killed while it wrote.
var errEvents = errors.New("what the injected library wrote is cut off")

// readEvents reads the logs in a folder.
func readEvents(dir string) (*log, error) {
	names, err := filepath.Glob(filepath.Join(dir, "events.*"))
	if err != nil {
		return nil, err
	}
	l := &log{}
	for _, name := range names {
		if err := l.read(dir, name); err != nil {
			return nil, &report.Error{Code: report.CodeFailed, Err: err}
		}
	}
	return l, nil
}

func (l *log) read(dir, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	p := &process{log: l, dir: dir, pid: strings.TrimPrefix(filepath.Ext(name), ".")}
	for s.Scan() {
		fields := strings.Split(s.Text(), "\t")
		if read := lines[fields[0]]; read != nil && !read(p, fields[1:]) {
			return fmt.Errorf("%w: %.80q", errEvents, s.Text())
		}
	}
	return s.Err()
}

// process is one process's log, being read.
type process struct {
	*log
	dir, pid string
}

// file is the path of a file that the process wrote.
func (p *process) file(name string, n int) string {
	return filepath.Join(p.dir, fmt.Sprintf("%s.%s.%d", name, p.pid, n))
}

// lines are the readers of lines, by their first field; each reports whether the others are as expected.
var lines = map[string]func(p *process, fields []string) bool{
	"process":    func(p *process, _ []string) bool { p.processes++; return true },
	"cupti":      func(*process, []string) bool { return true },
	"nocupti":    func(p *process, f []string) bool { return p.problem("nocupti", f) },
	"subscriber": func(p *process, f []string) bool { return p.problem("subscriber", f) },
	"nodriver":   func(p *process, f []string) bool { return p.problem("nodriver", f) },
	"failed": func(p *process, f []string) bool {
		p.fails = append(p.fails, strings.Join(f, "\t"))
		return len(f) == 2
	},
	"captured": func(p *process, f []string) bool {
		if len(f) == 1 && !slices.Contains(p.captured, f[0]) {
			p.captured = append(p.captured, f[0])
		}
		return len(f) == 1
	},
	"launch": func(p *process, f []string) bool {
		if len(f) != 2 {
			return false
		}
		p.launched = &Launch{Kernel: f[0], Call: f[1], Versions: map[string]string{}}
		return true
	},
	"device": func(p *process, f []string) bool {
		n, ok := numbers(f, 2)
		if ok && p.launched != nil {
			p.launched.Arch = int(10*n[0] + n[1])
		}
		return ok && p.launched != nil
	},
	"geometry": (*process).geometry,
	"image": func(p *process, f []string) bool {
		if len(f) != 3 || p.launched == nil {
			return false
		}
		p.launched.Image, p.launched.Load = filepath.Join(p.dir, filepath.Base(f[0])), f[1]
		p.launched.Library = f[2]
		return true
	},
	"param":  (*process).parameter,
	"word":   (*process).word,
	"extent": (*process).extent,
	"map":    (*process).tensorMap,
	"begun": func(p *process, _ []string) bool {
		p.begun = true
		return p.launched != nil && p.tensors(p.file("python", 0))
	},
	"recorded": func(p *process, _ []string) bool {
		p.recorded = true
		return p.begun
	},
	"ended": func(p *process, f []string) bool {
		n, ok := numbers(f, 3)
		if ok {
			p.matched, p.graphs = p.matched+int(n[0]), p.graphs+int(n[2])
		}
		return ok
	},
}

func (p *process) problem(kind string, f []string) bool {
	p.trouble = append(p.trouble, strings.Join(append([]string{kind}, f...), "\t"))
	return true
}

// index reads a number below n: which of as many things a line means.
func index(v uint64, n int) (int, bool) { return int(min(v, math.MaxInt)), n > 0 && v < uint64(n) }

// numbers reads n whole numbers from 0 on.
func numbers(f []string, n int) ([]uint64, bool) {
	if len(f) != n {
		return nil, false
	}
	out := make([]uint64, n)
	for i, s := range f {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

func (p *process) geometry(f []string) bool {
	n, ok := numbers(f, 11)
	if !ok || p.launched == nil {
		return false
	}
	l := p.launched
	for i := range 3 {
		l.Grid[i], l.Block[i], l.Cluster[i] = int(n[i]), int(n[3+i]), int(n[6+i])
	}
	l.Shared, l.Cooperative = int(n[9]), n[10] != 0
	return true
}

func (p *process) parameter(f []string) bool {
	if len(f) != 4 || p.launched == nil {
		return false
	}
	n, ok := numbers(f[:3], 3)
	data, err := hex.DecodeString(f[3])
	if !ok || err != nil || n[0] != uint64(len(p.launched.Parameters)) || uint64(len(data)) != n[2] {
		return false
	}
	p.launched.Parameters = append(p.launched.Parameters, data)
	return true
}

func (p *process) word(f []string) bool {
	n, ok := numbers(f, 4)
	if !ok || p.launched == nil {
		return false
	}
	parameter, at, ok := p.within(n[0], n[1], 8)
	extent, of := index(n[3], mostExtents)
	p.launched.Words = append(p.launched.Words, Word{parameter, at, n[2], extent})
	return ok && of
}

// within finds size bytes of a parameter.
func (p *process) within(parameter, at uint64, size int) (which, offset int, ok bool) {
	which, ok = index(parameter, len(p.launched.Parameters))
	if !ok {
		return 0, 0, false
	}
	offset, ok = index(at, len(p.launched.Parameters[which])-size+1)
	return which, offset, ok
}

// noExtent is the extent of a tensor map of no memory of the GPU.
const noExtent = -1

// tensorMap reads the arguments of cuTensorMapEncodeTiled: of each dimension, the innermost first, extent,
// stride in bytes, box and element stride.
func (p *process) tensorMap(f []string) bool {
	const head, each = 10, 4
	lost := len(f) > 2 && f[2] == "-1"
	if lost {
		f = slices.Clone(f)
		f[2] = "0"
	}
	n, ok := numbers(f, len(f))
	if !ok || p.launched == nil || len(n) < head || n[5] > tensormap.MaxRank ||
		len(n) != head+each*int(n[5]) {
		return false
	}
	parameter, at, ok := p.within(n[0], n[1], tensormap.Bytes)
	extent, of := index(n[2], mostExtents)
	if !ok || !of {
		return false
	}
	if lost {
		extent = noExtent
	}
	m := Map{Parameter: parameter, At: at, Extent: extent, Address: n[3]}
	m.DType, m.Interleave = tensormap.DType(n[4]), tensormap.Interleave(n[6])
	m.Swizzle, m.Promotion, m.Fill = tensormap.Swizzle(n[7]), tensormap.Promotion(n[8]), tensormap.Fill(n[9])
	for i := head; i < len(n); i += each {
		m.Dims, m.Box = append(m.Dims, n[i]), append(m.Box, uint32(n[i+2]))
		m.Steps = append(m.Steps, uint32(n[i+3]))
		if i > head {
			m.Strides = append(m.Strides, n[i+1])
		}
	}
	p.launched.Maps = append(p.launched.Maps, m)
	return true
}

// mostExtents bounds the memories of a launch: its parameters have 32,764 bytes at most.
const mostExtents = 1 << 13

func (p *process) extent(f []string) bool {
	n, ok := numbers(f, 4)
	if !ok || p.launched == nil || n[0] != uint64(len(p.launched.Extents)) || n[0] >= mostExtents ||
		n[2] > math.MaxInt64 {
		return false
	}
	p.launched.Extents = append(p.launched.Extents, Extent{
		Address: n[1], Bytes: int64(n[2]), Known: n[3] != 0,
		Before: p.file("before", int(n[0])), After: p.file("after", int(n[0])),
	})
	return true
}

// tensors reads what Python reported. Without Python there is no such file.
func (p *process) tensors(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case f[0] == "version" && len(f) == 3:
			p.launched.Versions[f[1]] = f[2]
		case f[0] == "tensor" && len(f) == 7:
			address, ok1 := numbers(f[1:2], 1)
			storage, ok2 := numbers(f[3:5], 2)
			dims, ok3 := integers(f[5])
			strides, ok4 := integers(f[6])
			if ok1 && ok2 && ok3 && ok4 && len(dims) == len(strides) {
				p.launched.Tensors = append(p.launched.Tensors, Tensor{
					Address: address[0], DType: f[2], Storage: storage[0], Bytes: int64(storage[1]),
					Dims: dims, Strides: strides,
				})
			}
		}
	}
	return true
}

// integers reads numbers separated by commas; "" is none.
func integers(s string) ([]int, bool) {
	if s == "" {
		return nil, true
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}
