package scaffold

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// geometry is what a kernel's own text shows of its launch, by axis; 0 and "" where it shows nothing.
type geometry struct {
	used    [3]bool   // threadIdx has this axis
	blocks  [3]bool   // blockIdx has it
	threads [3]int64  // of a block
	loose   int64     // threads, by evidence that a name is better than
	tile    [3]int64  // elements along the axis that the next block begins after
	alone   [3]bool   // the block's index stands for an element, whatever the threads
	extent  [3]string // the name that an index of the axis is compared with
}

var (
	geometryToken = regexp.MustCompile(`[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)?|\d[\w.]*|<<=|>>=|[<>=!+*/%&|^-]=|` +
		`&&|\|\||\+\+|--|->|<<|>>|::|\S`)
	geometryAlias = regexp.MustCompile(`\b(\w+) = (?:\( (?:int|unsigned|long|size_t|unsigned int) \) )?` +
		`((?:thread|block)Idx\.[xyz]|blockDim\.[xyz]) [;,]`)
	// of a sum: the block's index by so many elements, and the thread's
	stridedIndex  = regexp.MustCompile(`(?:` + blocksBy + `) \+ threadIdx\.([xyz])\b` + partOf)
	stridedBehind = regexp.MustCompile(`threadIdx\.([xyz])` + partOf + ` \+ (?:` + blocksBy + `)`)
	stridedBlock  = regexp.MustCompile(blocksBy)
	// of one number made of two indices of a thread: how many threads a row of the block has
	rowOfThreads  = regexp.MustCompile(`threadIdx\.y \* ` + operand + ` \+ threadIdx\.x\b`)
	rowBehind     = regexp.MustCompile(`threadIdx\.x \+ threadIdx\.y \* ` + operand)
	guardedThread = regexp.MustCompile(`threadIdx\.x (?:<|>=) ` + operand)
	steppedLoop   = regexp.MustCompile(`for \( (?:\w+ )*?(\w+) = ([^;]*) ; [^;]* ; (\w+) \+= ([\w.]+) \)`)
	definedAs     = regexp.MustCompile(`\b(\w+) = ([^;=]*?) [;,]`)
	comparedBelow = regexp.MustCompile(`\b([\w.]+(?: [*+] [\w.]+)*) (?:<|>=) (\w+)\b`)
)

// operand is a name, a number or a sum in brackets, blocksBy a block's index times one, and partOf what is
// left of a thread's index: its group's number, or its place in the group.
const (
	operand  = `(\w+|\( [^()]+ \))`
	partOf   = `(?: (/|>>|%|&) (\w+))?`
	blocksBy = `blockIdx\.([xyz]) \* ` + operand + `|` + operand + ` \* blockIdx\.([xyz])`
)

// axis is the number of x, y and z.
func axis(name string) int { return int(name[len(name)-1] - 'x') }

// geometry reads the kernel's text; the zero value where there is none.
func (g *general) geometry() (out geometry) {
	if g.v.kernel == nil {
		return out
	}
	text := plainText(g.v.kernel.Body())
	for a, name := range []string{"x", "y", "z"} {
		out.used[a] = strings.Contains(text, "threadIdx."+name)
		out.blocks[a] = strings.Contains(text, "blockIdx."+name)
	}
	if g.oneWarp(text) {
		out.threads[0] = warp
	}
	g.bySums(text, &out)
	g.byLoops(text, &out)
	g.byShared(text, &out)
	g.byComparison(text, &out)
	return out
}

// plainText is a body with one blank between its tokens, and the kernel's own names of the thread's and the
// block's index replaced by what they stand for.
func plainText(body string) string {
	text := " " + strings.Join(geometryToken.FindAllString(body, -1), " ") + " "
	text = regexp.MustCompile(`(\w) ?\. ?([xyz])\b`).ReplaceAllString(text, "$1.$2")
	source := text
	for _, at := range geometryAlias.FindAllStringSubmatchIndex(source, -1) {
		open := strings.LastIndex(source[:at[0]], "for (")
		if open >= 0 && !strings.ContainsAny(source[open:at[0]], ";)") {
			continue // a loop's counter
		}
		name, index := source[at[2]:at[3]], source[at[4]:at[5]]
		own := regexp.MustCompile(`([^.\w])` + regexp.QuoteMeta(name) + `([^.\w])`)
		for range 2 { // two that stand side by side share the blank between them
			text = own.ReplaceAllString(text, "${1}"+index+"${2}")
		}
	}
	return text
}

var (
	laneIsThread = regexp.MustCompile(
		`(?i)\blane(?:_?id)?\s*=\s*(?:\(\s*\w+\s*\)\s*)?threadIdx\s*\.\s*x\s*[;,]`)
	warpOfThread = regexp.MustCompile(`threadIdx\.x (?:/|>>|%|&) (\w+)`)
)

// oneWarp reports a kernel whose blocks have 32 threads along x: it takes threadIdx.x itself for the lane.
func (g *general) oneWarp(text string) bool {
	for _, m := range warpOfThread.FindAllStringSubmatch(text, -1) {
		if n := g.number(m[1], 1024); n == 0 || n == warp || n == warp-1 || n == 5 {
			return false
		}
	}
	return laneIsThread.MatchString(g.v.kernel.Body()) && !strings.Contains(text, "blockDim.x")
}

// number is the value of an operand that is one, up to what a block may have.
func (g *general) number(text string, most int64) int64 {
	if n, ok := g.v.eval(strings.Trim(text, " ")); ok && n > 0 && n <= most {
		return n
	}
	return 0
}

// bySums: in blockIdx.x * 32 + threadIdx.x a block covers 32 elements with as many threads, and in
// threadIdx.y * 32 + threadIdx.x a row of its threads has 32. A tile of less than a warp may be rows.
func (g *general) bySums(text string, out *geometry) {
	const most = 1 << 20
	note := func(block, by, thread, part, of string) {
		n := g.number(by, most)
		if n == 0 {
			return
		}
		if a := axis(block); out.tile[a] == 0 {
			out.tile[a] = n
		}
		each := int64(1) // threads that an element has
		switch part {
		case "/":
			each = g.number(of, 1024)
		case ">>":
			if each = 0; g.number(of, 10) > 0 {
				each = 1 << g.number(of, 10)
			}
		case "%", "&":
			return
		}
		if a := axis(thread); out.threads[a] == 0 && each > 0 && n*each <= 1024 {
			out.threads[a] = n * each
		}
	}
	for _, m := range stridedIndex.FindAllStringSubmatch(text, -1) {
		note(m[1]+m[4], m[2]+m[3], m[5], m[6], m[7])
	}
	for _, m := range stridedBehind.FindAllStringSubmatch(text, -1) {
		note(m[4]+m[7], m[5]+m[6], m[1], m[2], m[3])
	}
	for _, m := range stridedBlock.FindAllStringSubmatch(text, -1) {
		if n := g.number(m[2]+m[3], most); n > 0 {
			if a := axis(m[1] + m[4]); out.tile[a] == 0 {
				out.tile[a] = n
			}
			if axis(m[1]+m[4]) == 0 && n <= 1024 && n%warp == 0 && out.loose == 0 {
				out.loose = n
			}
		}
	}
	for _, row := range []*regexp.Regexp{rowOfThreads, rowBehind} {
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			if n := g.number(m[1], 1024); n > 0 && out.threads[0] == 0 {
				out.threads[0] = n
			}
		}
	}
}

// warp is how many threads a warp has.
const warp = 32

// wholeWarps rounds threads up to whole warps where the text lets those above their number do nothing:
// if (threadIdx.x < 10). Where it does not, each thread has an element of its own.
func (g *general) wholeWarps(threads int64) int64 {
	for _, m := range guardedThread.FindAllStringSubmatch(plainText(g.v.kernel.Body()), -1) {
		if threads%warp != 0 && g.number(m[1], 1024) == threads {
			return (threads + warp - 1) / warp * warp
		}
	}
	return threads
}

// byLoops: a loop that goes on by N from the thread's index, or whose counter is added to it, has N threads.
func (g *general) byLoops(text string, out *geometry) {
	derived := [3][]string{}
	for _, m := range definedAs.FindAllStringSubmatch(text, -1) {
		for a, name := range []string{"threadIdx.x", "threadIdx.y", "threadIdx.z"} {
			if strings.Contains(m[2], name) {
				derived[a] = append(derived[a], m[1])
			}
		}
	}
	for _, m := range steppedLoop.FindAllStringSubmatch(text, -1) {
		n := g.number(m[4], 1024)
		if m[1] != m[3] || n == 0 {
			continue
		}
		for a, name := range []string{"threadIdx.x", "threadIdx.y", "threadIdx.z"} {
			start := strings.TrimSpace(m[2])
			if start == name {
				out.threads[a] = n
				continue
			}
			if by, ok := strings.CutPrefix(start, name+" / "); ok { // each group of threads has an element
				out.threads[a] = g.number(fmt.Sprintf("(%s) * %d", by, n), 1024)
				continue
			}
			for _, d := range append([]string{name}, derived[a]...) {
				added := strings.Contains(text, " "+d+" + "+m[1]+" ") ||
					strings.Contains(text, " "+m[1]+" + "+d+" ")
				if added && g.number(boundOf(text, m[1]), 1024) >= n { // a tile in steps of the block's rows
					out.threads[a] = n
				}
			}
		}
	}
}

// boundOf is what a loop's counter stays below.
func boundOf(text, counter string) string {
	m := regexp.MustCompile(`; ` + regexp.QuoteMeta(counter) + ` < ([^;]+) ;`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// byShared: threads that each have an element of a shared array's dimension are as many, but for what pads
// it.
func (g *general) byShared(text string, out *geometry) {
	for _, s := range g.v.source.Shared {
		if len(s.Dims) == 0 {
			continue
		}
		index := strings.Repeat(` \[ ([^\[\]]+) \]`, len(s.Dims))
		own := regexp.MustCompile(` ` + regexp.QuoteMeta(s.Name) + index + ` = `)
		for _, m := range own.FindAllStringSubmatch(text, -1) {
			g.byRows(m[1:], s.Dims, out)
			for k, i := range m[1:] {
				for a, name := range []string{"threadIdx.x", "threadIdx.y", "threadIdx.z"} {
					side, _, _ := strings.Cut(s.Dims[k], "+")
					if n := g.number(side, 1024); i == name && out.threads[a] == 0 {
						out.threads[a] = n
					}
				}
			}
		}
	}
}

// byRows: where threadIdx.y * 16 + threadIdx.x is an element of an array of 128, there are 8 rows of threads.
func (g *general) byRows(index, dims []string, out *geometry) {
	if len(index) != 1 || out.threads[1] != 0 {
		return
	}
	for _, row := range []*regexp.Regexp{rowOfThreads, rowBehind} {
		m := row.FindStringSubmatch(index[0])
		if m == nil || m[0] != index[0] {
			continue
		}
		if n, all := g.number(m[1], 1024), g.number(dims[0], 1024); n > 0 && all%n == 0 {
			out.threads[1] = all / n
		}
	}
}

// byComparison: an index that is compared with a parameter, or with a constant, covers it along the axis of
// its block.
func (g *general) byComparison(text string, out *geometry) {
	from := map[string]int{} // names made of a block's index, by its axis: the first definition counts
	for _, m := range definedAs.FindAllStringSubmatch(text, -1) {
		for a, name := range []string{"blockIdx.x", "blockIdx.y", "blockIdx.z"} {
			if _, twice := from[m[1]]; !twice && strings.Contains(m[2], name) {
				from[m[1]] = a
				if !strings.Contains(m[2], "threadIdx") && strings.TrimSpace(m[2]) == name {
					out.alone[a] = true
				}
			}
		}
	}
	for _, m := range comparedBelow.FindAllStringSubmatch(text, -1) {
		a, known := from[m[1]]
		for _, term := range strings.Split(m[1], " + ") { // y + j < rows
			if b, ok := from[term]; ok && !known {
				a, known = b, true
			}
		}
		for b, name := range []string{"blockIdx.x", "blockIdx.y", "blockIdx.z"} {
			if !known && strings.Contains(m[1], name) {
				a, known = b, true
			}
		}
		if d := g.dimensionOf(m[2]); known && d != "" && out.extent[a] == "" {
			out.extent[a] = d
		}
	}
	for a, name := range []string{"blockIdx.x", "blockIdx.y", "blockIdx.z"} {
		out.alone[a] = out.alone[a] || out.blocks[a] && out.tile[a] == 0 &&
			!strings.Contains(text, "* "+name) && !g.tiled(text, name)
	}
}

// tiled reports whether a block's index is multiplied by something that is no extent of the launch's
// arguments: blockDim.x, or a template parameter of which nothing gives the value.
func (g *general) tiled(text, index string) bool {
	for _, m := range stridedBlock.FindAllStringSubmatch(text, -1) {
		if "blockIdx."+m[1]+m[4] == index && g.dimensionOf(m[2]+m[3]) == "" {
			return true
		}
	}
	return false
}

// dimensionOf is the dimension that the kernel is passed under a name, "" where it is none.
func (g *general) dimensionOf(name string) string {
	for i, p := range g.v.kernel.Parameters {
		if p.Name == name && i < len(g.params) {
			return g.dimOf[i]
		}
	}
	return ""
}

// shaped settles the threads of a block that nothing gives: what the text shows of each axis, then usual
// names of constants, what launch bounds leave, and usual numbers.
func (g *general) shaped(bound int64) {
	geo, block := g.geo, g.geo.threads
	names := []string{"blocksize", "threads", "block", "nthreads", "numthreads", "threadsperblock",
		"blockthreads", "blockdim", "threadcount"}
	flat := !geo.used[1] && !geo.used[2]
	if !flat {
		names = []string{"tile", "tilesize", "tiledim", "tilewidth", "blocksize", "block", "blockdim", "ts",
			"bs", "t"}
	}
	named := g.namedAs(names)
	switch {
	case flat:
		block[0] = firstOf(block[0], named, bound, geo.loose, g.cellsOfThreads(), 128)
		if g.v.kernel != nil {
			block[0] = g.wholeWarps(block[0])
		}
	case !flat:
		square := named
		if square > 32 {
			square = 0
		}
		usual := [3]int64{16, 16, 1}
		if block[1] > 0 && block[1] < 16 {
			usual[0] = 32 // rows of a warp's lanes
		}
		if geo.used[2] {
			usual = [3]int64{8, 8, 4}
		}
		left, open := bound, 0
		for a := range block {
			switch {
			case !geo.used[a] && block[a] == 0 && a > 0:
				block[a] = 1
			case block[a] == 0:
				open++
			case left > 0:
				left = max(1, left/block[a])
			}
		}
		for a := range block {
			if block[a] > 0 {
				continue
			}
			switch {
			case bound > 0 && open == 1:
				block[a] = left
			case bound > 0 && left%32 == 0 && a == 0:
				block[a], left = 32, left/32
			case bound > 0:
				block[a] = left
			default:
				block[a] = firstOf(square, usual[a])
			}
			open--
		}
	}
	for a := range block {
		block[a] = max(1, block[a])
	}
	for a := 2; a >= 0 && block[0]*block[1]*block[2] > 1024; a-- {
		block[a] = max(1, block[a]*1024/(block[0]*block[1]*block[2]))
	}
	g.block = block
}

// namedAs is the value of the first of some names that a constant of the source or of the kernel's template
// has, whatever its case, its underscores and a k before it; 0 where there is none.
func (g *general) namedAs(names []string) int64 {
	var own []string
	for _, c := range g.v.source.Constants {
		own = append(own, c.Name)
	}
	own = append(append(own, slices.Sorted(maps.Keys(g.v.locals))...), slices.Sorted(maps.Keys(g.v.bound))...)
	for _, name := range names {
		for _, c := range own {
			plain := strings.ToLower(strings.ReplaceAll(c, "_", ""))
			if plain != name && (plain != "k"+name || !strings.HasPrefix(c, "k")) {
				continue
			}
			if n := g.number(c, 1024); n > 0 {
				return n
			}
		}
	}
	return 0
}

// firstOf is the first number that is not 0.
func firstOf(list ...int64) int64 {
	for _, n := range list {
		if n > 0 {
			return n
		}
	}
	return 0
}

// shownGrid is a grid by what the kernel's indices are compared with; false where an axis of the blocks is
// compared with nothing, and there is no only dimension that it can cover.
func (g *general) shownGrid(side func(extent string, tile int64) gridSide) bool {
	grid := g.grid
	for a := range grid {
		extent := g.geo.extent[a]
		if !g.geo.blocks[a] {
			continue
		}
		switch {
		case extent == "" && g.geo.alone[a] && a > 0:
			continue // one of many that nothing counts
		case extent == "" && len(g.dims) == 1 && (g.geo.blocks[1] || a > 0):
			extent = g.dims[0].name // a square
		case extent == "":
			return false
		}
		tile := firstOf(g.geo.tile[a], g.block[a])
		if g.geo.alone[a] {
			tile = 1
		}
		grid[a] = side(extent, tile)
	}
	if !g.geo.blocks[0] && !g.geo.blocks[1] && !g.geo.blocks[2] {
		return false
	}
	g.grid = grid
	return true
}

// tileOffsets is how many products of an index are where a block begins, blockIdx.x * 16: they go along a
// dimension, and are no step from row to row.
func (g *general) tileOffsets(index string) int {
	n := strings.Count(index, "* blockDim.") + strings.Count(index, "blockDim.x *") +
		strings.Count(index, "blockDim.y *") + strings.Count(index, "blockDim.z *")
	for _, m := range stridedBlock.FindAllStringSubmatch(index, -1) {
		if g.number(m[2]+m[3], 1<<20) > 0 {
			n++
		}
	}
	return n
}

// indexed are the dimensions of the elements that a pointer is indexed by, by what its index names and what
// those names stay below; nil where that is not the whole of it. The length of a row comes last.
func (g *general) indexed(i int) []string {
	k := g.v.kernel
	if k == nil || i >= len(k.Parameters) {
		return nil
	}
	text := plainText(k.Body())
	below := map[string]string{}
	for _, m := range comparedBelow.FindAllStringSubmatch(text, -1) {
		if d := g.dimensionOf(m[2]); d != "" && below[m[1]] == "" {
			below[m[1]] = d
		}
	}
	found := map[string]bool{}
	terms := 0
	for _, x := range k.Indices() {
		if x.Name != k.Parameters[i].Name {
			continue
		}
		index := plainText(x.Index)
		for _, word := range typeWord.FindAllString(index, -1) {
			if d := g.dimensionOf(word); d != "" {
				found[d] = true
			} else if d := below[word]; d != "" {
				found[d] = true
			}
		}
		terms = max(terms, strings.Count(index, "*")-g.tileOffsets(index)+1)
	}
	stride := g.stride(i)
	var dims []string
	for _, d := range g.dims {
		if found[d.name] && d.name != stride {
			dims = append(dims, d.name)
		}
	}
	if stride != "" {
		dims = append(dims, stride)
		if len(dims) == 1 { // of how many rows nothing says: a square
			dims = append(dims, stride)
		}
	}
	if len(dims) < terms {
		return nil
	}
	return dims
}
