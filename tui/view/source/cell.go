package source

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// noSuchCell is why a shared array has no such cell, "" where it has. All dimensions but the last are rows,
// as in SHARED.
func (v *Controller) noSuchCell(array string, row, col int) string {
	if v.Run == nil || v.Run.Plan == nil {
		return ""
	}
	dims := v.dimsOf(array)
	if dims == nil {
		return fmt.Sprintf("this build has no shared array %q", array)
	}
	rows, cols := rowsAndColumns(dims)
	if row < rows && col < cols {
		return ""
	}
	extents := strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", "×"), "[]")
	if row == noRow {
		return fmt.Sprintf("%s has no such cell: it is %s", array, extents)
	}
	return fmt.Sprintf("%s has no cell [%d][%d]: it is %s", array, row, col, extents)
}

// rowsAndColumns are the extents of an array as a table: all dimensions but the last are of its rows, and so
// is one alone.
func rowsAndColumns(dims []int) (rows, cols int) {
	rows, cols = 1, 1
	for i, d := range dims {
		if i > 0 && i == len(dims)-1 {
			cols = d
		} else {
			rows *= d
		}
	}
	return rows, cols
}

// noRow is the row of a cell one of whose other indices is too large.
const noRow = math.MaxInt

// dimsOf are the extents of a shared array; nil where the kernel has none of that name.
func (v *Controller) dimsOf(array string) []int {
	if v.Run == nil || v.Run.Plan == nil {
		return nil
	}
	for _, a := range v.Run.Plan.Shared {
		if a.Name == array {
			return a.Dims
		}
	}
	return nil
}

// cellAt is an element of a shared array as a cell: all indices but the last are of its row.
func (v *Controller) cellAt(array string, index []int) (row, col int) {
	dims := v.dimsOf(array)
	switch {
	case len(index) == 0:
		return 0, 0
	case len(index) == 1 || len(dims) != len(index):
		return index[0], append(slices.Clone(index), 0)[1]
	}
	last := len(index) - 1
	for i := range last {
		row = row*dims[i] + index[i]
	}
	return row, index[last]
}

// cellOf reads ARRAY[ROW][COL], ARRAY[ROW], or an index for each dimension of an array with more than two.
func (v *Controller) cellOf(arg string) (array string, row, col int, ok bool) {
	parts := strings.Split(strings.ReplaceAll(arg, "]", ""), "[")
	if len(parts) < 2 || parts[0] == "" {
		return "", 0, 0, false
	}
	array = parts[0]
	var index []int
	for _, p := range parts[1:] {
		i, err := strconv.Atoi(p)
		if err != nil || i < 0 {
			return "", 0, 0, false
		}
		index = append(index, i)
	}
	if len(index) <= 2 {
		return array, index[0], append(index, 0)[1], true
	}
	dims := v.dimsOf(array)
	if len(dims) != len(index) {
		return "", 0, 0, false
	}
	last := len(index) - 1
	for i := range last {
		if index[i] >= dims[i] {
			return array, noRow, index[last], true
		}
		row = row*dims[i] + index[i]
	}
	return array, row, index[last], true
}
