package fragment

import "tilescope/probes"

// FromLanes returns a captured tile with its elements, which lie as threads hold them, in rows and
// columns: element i of the capture is cell cells[i]. Without cells, or for a tile that was not
// captured, it is t itself.
func FromLanes(cells []int, t probes.Tile) probes.Tile {
	if cells == nil || t.Data == nil {
		return t
	}
	out := probes.NewTile(t.DType, t.Rows, t.Cols)
	n := t.DType.Size()
	for i, c := range cells {
		copy(out.Data[c*n:(c+1)*n], t.Data[i*n:])
	}
	if t.Absent != nil {
		out.Absent = make([]bool, len(t.Absent))
		for i, c := range cells {
			out.Absent[c] = t.Absent[i]
		}
	}
	return out
}

// ToLanes is the inverse of FromLanes: a tile's bytes in the order in which threads read them.
func ToLanes(cells []int, t probes.Tile) []byte {
	if cells == nil || t.Data == nil {
		return t.Data
	}
	out := make([]byte, len(t.Data))
	n := t.DType.Size()
	for i, c := range cells {
		copy(out[i*n:(i+1)*n], t.Data[c*n:])
	}
	return out
}
