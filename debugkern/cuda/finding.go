package cuda

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// bufferName names a buffer of the worker's answer.
func bufferName(l *target.Launch, n int) string {
	if n < len(l.Args) {
		return l.Args[n].Name
	}
	return [...]string{"capture buffer", "injected tiles", "control block"}[min(n-len(l.Args), 2)]
}

// of reports whether a result is of a launch: every number that it names is one of its buffers, or of a byte
// in one. The worker may be another machine's.
func (r *launchResult) of(l *target.Launch) bool {
	buffer := func(n int) bool {
		return n >= 0 && n < len(l.Args) && l.Args[n].Buffer != nil || n == len(l.Args) && l.Probe != nil
	}
	for _, o := range r.Overruns {
		ours := l.Probe != nil && o.Buffer > len(l.Args) && o.Buffer <= len(l.Args)+2
		if !buffer(o.Buffer) && !ours || o.First < 0 || o.First > guardBytes || o.Bytes < 0 {
			return false
		}
	}
	for _, v := range r.Varied {
		if !buffer(v.Buffer) || !slices.IsSorted(v.Words) || len(v.Words) > 0 && v.Words[0] < 0 {
			return false
		}
	}
	return !slices.ContainsFunc(r.Uncompared, func(n int) bool { return !buffer(n) })
}

// overruns makes findings of guard bands that were written to.
func overruns(l *target.Launch, found []overrun) []target.Finding {
	var out []target.Finding
	for _, o := range found {
		name := bufferName(l, o.Buffer)
		elem, elements := 1, 0
		if o.Buffer < len(l.Args) {
			b := l.Args[o.Buffer].Buffer
			elem = elemSize(b)
			elements = max(b.Bytes, len(b.Init)) / elem
		}
		f := target.Finding{
			Kind: target.OutOfBounds, Severity: target.OutOfBounds.Severity(), Variable: name,
			Space: "global", KVTile: -1, Count: (o.Bytes + elem - 1) / elem,
			Consequence: "the write lands in whatever the allocator put there; here in a guard band",
		}
		side, away := "past its end", int(o.First)/elem
		f.Index, f.Neighbour = []int{elements + away}, "the guard band behind "+name
		if !o.After {
			side = "before its start"
			f.Index, f.Neighbour = []int{-1 - away}, "the guard band before "+name
		}
		f.Message = fmt.Sprintf("%d bytes were written %s of %s, the nearest %d bytes beyond (launch %d)",
			o.Bytes, side, name, o.First, o.Launch)
		out = append(out, f)
	}
	return out
}

// varied makes findings of what repeated launches left different: one an output, one a captured stage.
func varied(l *target.Launch, found []variation, repeats int) []target.Finding {
	var out []target.Finding
	for _, v := range found {
		if v.Buffer < len(l.Args) {
			out = append(out, variedOutput(l, v, repeats))
			continue
		}
		out = append(out, variedStages(l, v, repeats)...)
	}
	return out
}

// bytesOf lists the offsets of a variation's bytes, ascending.
func bytesOf(v variation) []int64 {
	var out []int64
	for _, w := range v.Words {
		for b := range int64(4) {
			if w>>b&1 != 0 {
				out = append(out, w>>4*4+b)
			}
		}
	}
	return out
}

func variedFinding(v variation, name string, cells, repeats int) target.Finding {
	atLeast := ""
	if v.Total > int64(len(v.Words)) {
		atLeast = "at least "
	}
	return target.Finding{
		Kind: target.Varies, Severity: target.Varies.Severity(), Variable: name, Space: "global", KVTile: -1,
		Count: cells,
		Message: fmt.Sprintf(
			"%s%d cells of %s differ between %d identical launches (first seen in launch %d)", atLeast, cells,
			name, repeats, v.Launch),
	}
}

func variedOutput(l *target.Launch, v variation, repeats int) target.Finding {
	a := l.Args[v.Buffer]
	elem, size := int64(elemSize(a.Buffer)), int64(max(a.Buffer.Bytes, len(a.Buffer.Init)))
	var cells []int64
	for _, b := range bytesOf(v) {
		if b < size && (len(cells) == 0 || cells[len(cells)-1] != b/elem) {
			cells = append(cells, b/elem)
		}
	}
	f := variedFinding(v, a.Name, len(cells), repeats)
	if len(cells) > 0 && a.Buffer.Strides == nil {
		f.Index = linear(int(cells[0]), a.Buffer.Dims)
	} else if len(cells) > 0 {
		if at, ok := probes.IndexAt(int(cells[0]), a.Buffer.Dims, a.Buffer.Strides); ok {
			f.Index = at
		} else {
			f.Index = []int{int(cells[0])}
		}
	}
	return f
}

func variedStages(l *target.Launch, v variation, repeats int) []target.Finding {
	cells := map[probes.Stage][]probes.CapturedCell{}
	headers := map[probes.Stage]bool{}
	for _, b := range bytesOf(v) {
		c, ok := l.Probe.Layout.Locate(uint64(b))
		if !ok {
			continue
		}
		headers[c.Stage] = headers[c.Stage] || c.Header
		if list := cells[c.Stage]; len(list) == 0 || list[len(list)-1] != c {
			cells[c.Stage] = append(list, c)
		}
	}
	var out []target.Finding
	for _, s := range l.Probe.Layout.Stages() {
		list := cells[s]
		if len(list) == 0 {
			continue
		}
		f := variedFinding(v, s.String(), len(list), repeats)
		f.Block, f.Index = list[0].Block, []int{list[0].Row, list[0].Col}
		f.KVTile = list[0].KVTile
		if headers[s] {
			f.Message += "; some tiles were reached in one launch and not in another"
		}
		out = append(out, f)
	}
	return out
}

// notDone says what a GPU, or this one, could not do of what was asked.
func notDone(l *target.Launch, uncompared []int) []target.Finding {
	var out []target.Finding
	advise := func(name, message string) {
		out = append(out, target.Finding{
			Kind: target.NotModelled, Severity: target.NotModelled.Severity(), Variable: name, KVTile: -1,
			Count: 1, Message: message,
		})
	}
	if l.Probe != nil && len(l.Probe.Watch) > 0 {
		var names []string
		for _, w := range l.Probe.Watch {
			names = append(names, w.Stage.String())
		}
		slices.Sort(names)
		advise(strings.Join(names, " "),
			fmt.Sprintf(
				"stage %s is captured from shared memory without a probe, which only the emulator can do: not captured on the GPU",
				strings.Join(names, ", ")))
	}
	for _, n := range uncompared {
		name := bufferName(l, n)
		advise(name,
			fmt.Sprintf("%s was not compared between launches: the device has no room for a second copy",
				name))
	}
	return out
}
