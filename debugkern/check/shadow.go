package check

// access is one access to a cell that later ones are compared with: by some lanes of one warp, at one stamp,
// by one instruction. A wmma access is one by all lanes of its warp.
type access struct {
	stamp uint32
	mask  uint32
	at    uint32 // PC << 5 | warp
}

func (a *access) warp() int { return int(a.at & 31) }
func (a *access) pc() int   { return int(a.at >> 5) }

// underWay is the stamp of a write by cp.async that its issuer has not waited for: after everything.
const underWay = ^uint32(0)

// cell is what is known of some bytes that were always accessed together: the last plain write, the plain
// reads since, and, in a list, further reads and all strong accesses.
type cell struct {
	w, r, r2 access
	more     int32 // in list.nodes, 0: none
}

// list holds the accesses that cells have no room for.
type list struct {
	nodes []node
	free  int32
}

type node struct {
	access
	strong, writes bool
	next           int32
}

// push puts an access in front of a list.
func (l *list) push(head *int32, a access, strong, writes bool) {
	i := l.free
	if i != 0 {
		l.free = l.nodes[i].next
	} else {
		if len(l.nodes) == 0 {
			l.nodes = append(l.nodes, node{})
		}
		i = int32(len(l.nodes))
		l.nodes = append(l.nodes, node{})
	}
	l.nodes[i] = node{a, strong, writes, *head}
	*head = i
}

// drop frees a whole list.
func (l *list) drop(head *int32) {
	for *head != 0 {
		l.remove(head)
	}
}

// remove frees the node that link points to; link then points to the next.
func (l *list) remove(link *int32) {
	i := *link
	*link = l.nodes[i].next
	l.nodes[i] = node{next: l.free}
	l.free = i
}

// copyOf copies a list.
func (l *list) copyOf(head int32) int32 {
	var out int32
	for i := head; i != 0; i = l.nodes[i].next {
		l.push(&out, l.nodes[i].access, l.nodes[i].strong, l.nodes[i].writes)
	}
	return out
}

// Memory is kept in lines of 16 bytes, each cut into cells as small as the smallest access to it so far.
const (
	lineBits = 4
	lineSize = 1 << lineBits
)

// shadow is the cells of shared memory: cell i is that of the bytes from i on, if one begins there.
type shadow struct {
	unit  []uint8 // by line: log2 of the bytes of a cell
	cells []cell
	list  list
}

// begin makes room for n bytes in whole lines, so that how often something is counted does not depend on
// which blocks came before. What cells know stays: stamps go on, so that it is older than any block to come.
func (s *shadow) begin(n int) {
	lines := (n + lineSize - 1) / lineSize
	for i := range s.unit {
		s.unit[i] = lineBits
	}
	for len(s.unit) < lines {
		s.unit = append(s.unit, lineBits)
	}
	if d := lines*lineSize - len(s.cells); d > 0 {
		s.cells = append(s.cells, make([]cell, d)...)
	}
}

// split cuts a line into cells of 1<<unit bytes.
func (s *shadow) split(line int, unit uint8) {
	splitCells(s.cells[line*lineSize:][:lineSize], s.unit[line], unit, &s.list)
	s.unit[line] = unit
}

// splitCells cuts cells of 1<<from bytes into cells of 1<<to, which all know what the whole one knew.
func splitCells(cells []cell, from, to uint8, l *list) {
	for i := 0; i < lineSize; i += 1 << from {
		for j := i + 1<<to; j < i+1<<from; j += 1 << to {
			cells[j] = cells[i]
			cells[j].more = l.copyOf(cells[i].more)
		}
	}
}
