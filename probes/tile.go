package probes

import "encoding/binary"

// Tile is one captured matrix: bits and their type, rows×cols, row-major and dense. Data is owned by the tile's maker and
// read-only to everybody else; tiles are views of one capture buffer and are cheap to copy.
type Tile struct {
	DType      DType
	Rows, Cols int
	Data       []byte // little endian, Rows*Cols*DType.Size() bytes; nil where the tile was not reached
}

// NewTile returns a zeroed tile.
func NewTile(t DType, rows, cols int) Tile {
	return Tile{t, rows, cols, make([]byte, rows*cols*t.Size())}
}

// Reached reports whether execution got to the probe that fills this tile.
func (t Tile) Reached() bool { return t.Data != nil }

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
