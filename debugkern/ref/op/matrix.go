package op

// Matrix is a dense row-major float64 matrix.
type Matrix struct {
	Rows, Cols int
	Data       []float64
}

// NewMatrix returns a zeroed matrix.
func NewMatrix(rows, cols int) Matrix { return Matrix{rows, cols, make([]float64, rows*cols)} }

// Row returns row r; it is a view.
func (m Matrix) Row(r int) []float64 { return m.Data[r*m.Cols : (r+1)*m.Cols : (r+1)*m.Cols] }

// At returns cell (r, c).
func (m Matrix) At(r, c int) float64 { return m.Data[r*m.Cols+c] }
