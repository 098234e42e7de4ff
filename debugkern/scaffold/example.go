package scaffold

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Example is a launch of a kernel to begin with, for somebody who has given none: what the source shows, and
// usual numbers where it shows nothing. A floating-point buffer that is only read is random, others are
// zeros.
type Example struct {
	Kernel  string   // as it is declared; of PTX the entry's name
	Options []string // of the command line, one word each
}

// exampleElements is how many elements a buffer of an example has where no launch says how many threads
// there are.
const exampleElements = 1024

// SourceExample is a launch of a kernel of a CUDA source, of the first for entry ""; nil where there is none.
func SourceExample(s Source, entry string) *Example {
	i := slices.IndexFunc(s.Kernels, func(k *hostcode.Kernel) bool {
		return k.Defined && (entry == "" || k.Name == entry || k.Qualified() == entry)
	})
	if i < 0 {
		return nil
	}
	k := s.Kernels[i]
	v := s.viewOf(k, "")
	params := declaredParameters(v)
	for i, d := range k.Parameters {
		words := strings.Fields(d.Type)
		params[i].Written = params[i].Pointer && !slices.Contains(words, "const")
	}
	out := exampleOf(&ptx.Func{}, v, params)
	out.Kernel = k.Name + "(" + signature(k) + ")"
	if entry == "" && len(s.Kernels) > 1 {
		out.Options = append([]string{"--entry", k.Qualified()}, out.Options...)
	}
	return out
}

// ModuleExample is a launch of an entry of which there is only PTX: its parameters have indices for names.
func ModuleExample(f *ptx.Func) *Example {
	out := exampleOf(f, Source{}.view(f), Parameters(f, nil))
	out.Kernel = f.Demangled
	return out
}

func signature(k *hostcode.Kernel) string {
	var list []string
	for _, p := range k.Parameters {
		list = append(list, strings.TrimSpace(p.Type+" "+p.Name))
	}
	return strings.Join(list, ", ")
}

// exampleOf settles block, grid and arguments: so many threads as elements.
func exampleOf(f *ptx.Func, v *view, params []Parameter) *Example {
	g := &general{v: v, f: f, params: params}
	g.threads()
	if n := cmp.Or(g.strideOfBlocks(), g.cellsOfThreads()); g.guessedBlock && n > 0 {
		g.block = [3]int64{n, 1, 1}
	}
	threads := max(1, g.block[0]*g.block[1]*g.block[2])
	grid := g.literalGrid()
	if grid == [3]int64{} {
		grid = [3]int64{max(1, exampleElements/threads), 1, 1}
		for g.block[1] > 1 && grid[0] >= 4*grid[1] {
			grid[0], grid[1] = grid[0]/2, grid[1]*2
		}
	}
	out := &Example{Options: []string{"--grid", extent(grid).Short(), "--block", extent(g.block).Short()}}
	for i, value := range ExampleValues(params, threads*grid[0]*grid[1]*grid[2]) {
		name := params[i].Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		out.Options = append(out.Options, "--arg", name+"="+value)
	}
	return out
}

// mostElements is how many elements a buffer of an example has at most.
const mostElements = 1 << 20

// ExampleValues are values to begin with for the parameters of a kernel that so many threads execute: as many
// elements in each buffer, and one side of a square of them for each number, where there are several.
func ExampleValues(params []Parameter, threads int64) (out []string) {
	n := int(max(1, min(threads, mostElements)))
	numbers := 0
	for _, p := range params {
		if !p.Pointer && !p.DType.Float() {
			numbers++
		}
	}
	side := n
	if numbers > 1 {
		for side = 1; (side+1)*(side+1) <= n; {
			side++
		}
	}
	for _, p := range params {
		out = append(out, p.Example(n, side))
	}
	return out
}

// blockStride is how far apart the elements of two blocks begin: blockIdx.x * 256.
var blockStride = regexp.MustCompile(`\bblockIdx\.x \* (\w+)|\b(\w+) \* blockIdx\.x\b`)

// strideOfBlocks is the size of a block by the kernel's own indices, 0 where they do not say.
func (g *general) strideOfBlocks() int64 {
	if g.v.kernel == nil {
		return 0
	}
	m := blockStride.FindStringSubmatch(operators.ReplaceAllString(g.v.kernel.Body(), " * "))
	if m == nil {
		return 0
	}
	if n, ok := g.v.eval(m[1] + m[2]); ok && n > 0 && n <= 1024 {
		return n
	}
	return 0
}

// threadName is a variable that has a thread's index.
var threadName = regexp.MustCompile(`\b(\w+)\s*=\s*threadIdx\.x\s*;`)

// cellsOfThreads is the length of a shared array that has a cell for each thread, s[threadIdx.x], 0 where
// there is none.
func (g *general) cellsOfThreads() int64 {
	if g.v.kernel == nil {
		return 0
	}
	body := g.v.kernel.Body()
	index := []string{`threadIdx\.x`}
	for _, m := range threadName.FindAllStringSubmatch(body, -1) {
		index = append(index, m[1])
	}
	for _, s := range g.v.source.Shared {
		if len(s.Dims) != 1 {
			continue
		}
		own := regexp.MustCompile(`\b` + regexp.QuoteMeta(s.Name) + `\s*\[\s*(` + strings.Join(index, "|") +
			`)\s*\]\s*=[^=]`)
		if n, ok := g.v.eval(s.Dims[0]); ok && n > 0 && n <= 1024 && own.MatchString(body) {
			return n
		}
	}
	return 0
}

// operators are multiplications with any blanks around them.
var operators = regexp.MustCompile(`\s*\*\s*`)

// literalGrid is the grid of the host's launch where it is made of numbers, else nothing.
func (g *general) literalGrid() (grid [3]int64) {
	if g.v.launch == nil || len(g.v.launch.Config) == 0 {
		return grid
	}
	grid = [3]int64{1, 1, 1}
	for i, e := range g.components(g.v.launch.Config[0]) {
		n, ok := e.Eval(g.launchValue)
		if !ok || n <= 0 || i > 2 {
			return [3]int64{}
		}
		grid[i] = n
	}
	return grid
}

// extent is a grid or a block as plans have it.
func extent(d [3]int64) probes.Dim3 { return probes.Dim3{int(d[0]), int(d[1]), int(d[2])} }

// Example is a value to begin with, as --arg has it: of a pointer so many elements, of a number its value.
func (p Parameter) Example(elements, number int) string {
	dtype := p.DType
	switch {
	case p.Struct > 0:
		return "{0: 0:u8}"
	case !p.Pointer && dtype.Float():
		return "1"
	case !p.Pointer:
		return fmt.Sprint(number)
	case dtype == 0:
		dtype = probes.F32
	}
	fill := "zeros"
	if !p.Written && dtype.Float() {
		fill = "randn"
	}
	return fmt.Sprintf("%s:%s[%d]", fill, strings.ToLower(dtype.String()), elements)
}
