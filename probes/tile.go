package probes

import "encoding/binary"

// Tile is one captured matrix: bits and their type, rows×cols, row-major and dense. Data is owned by the
// tile's maker and read-only to everybody else; tiles are views of one capture buffer and are cheap to copy.
type Tile struct {
	DType      DType
	Rows, Cols int
	Data       []byte // little endian, Rows*Cols*DType.Size() bytes; nil where the tile was not reached
	// Absent marks, row-major, the cells that no thread captured: their bytes are 0 and mean nothing. nil:
	// all were captured.
	Absent []bool
}

// NewTile returns a zeroed tile.
func NewTile(t DType, rows, cols int) Tile {
	return Tile{DType: t, Rows: rows, Cols: cols, Data: make([]byte, rows*cols*t.Size())}
}

// Reached reports whether execution got to the probe that fills this tile.
func (t Tile) Reached() bool { return t.Data != nil }

// Captured reports whether some thread captured cell (row, col); false for every cell of a tile
// that was not reached.
func (t Tile) Captured(row, col int) bool {
	return t.Data != nil && (t.Absent == nil || !t.Absent[row*t.Cols+col])
}

// Same reports whether cell (row, col) is the same in two tiles of one type: the same bits, or
// captured in neither.
func (t Tile) Same(o Tile, row, col int) bool {
	a, b := t.Captured(row, col), o.Captured(row, col)
	return a == b && (!a || t.Bits(row, col) == o.Bits(row, col))
}

// Bits returns the bit pattern of cell (row, col).
func (t Tile) Bits(row, col int) uint64 {
	i := row*t.Cols + col
	switch t.DType.Size() {
	case 1:
		return uint64(t.Data[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(t.Data[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return binary.LittleEndian.Uint64(t.Data[8*i:])
}

// SetBits stores the low bits of v into cell (row, col).
func (t Tile) SetBits(row, col int, v uint64) {
	i := row*t.Cols + col
	switch t.DType.Size() {
	case 1:
		t.Data[i] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(t.Data[2*i:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(t.Data[4*i:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(t.Data[8*i:], v)
	}
}

// At returns cell (row, col) widened to float64.
func (t Tile) At(row, col int) float64 { return t.DType.Value(t.Bits(row, col)) }
