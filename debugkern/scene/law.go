package scene

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Law says how the places at which warps write follow from their numbers, where that is why several have the
// same: bits of the number that no index follows, or a step between warps that is less than what each writes.
// "" where neither is so.
func (w *Contested) Law() string {
	warps := slices.Sorted(maps.Keys(w.by))
	n := len(warps)
	if w.Parties != Warps || n < 2 || n&(n-1) != 0 || warps[n-1] != n-1 {
		return ""
	}
	boxes := make([]indexBox, n)
	for i := range boxes {
		boxes[i] = around(slices.Collect(maps.Keys(w.by[i])), w.dims)
		for d := range boxes[i] {
			if boxes[i][d][1]-boxes[i][d][0] != boxes[0][d][1]-boxes[0][d][0] {
				return "" // they do not write alike
			}
		}
	}
	follows := make([]int, len(w.dims)) // by dimension: the bits that its index changes with
	all := 0
	for d := range w.dims {
		for i := range boxes {
			for b := 1; b < n; b <<= 1 {
				if boxes[i][d][0] != boxes[i^b][d][0] {
					follows[d] |= b
				}
			}
		}
		all |= follows[d]
	}
	if missing := (n - 1) &^ all; missing != 0 {
		return w.unfollowed(follows, missing, n)
	}
	return step(boxes, follows)
}

// unfollowed words bits of the warp's number that no index changes with.
func (w *Contested) unfollowed(follows []int, missing, n int) string {
	var parts []string
	for d, set := range follows {
		if set != 0 {
			parts = append(parts, dimension(d, len(follows))+" follows "+bitText(set, n))
		}
	}
	if len(parts) == 0 {
		return "no index of it follows the warp's number"
	}
	return strings.Join(parts, ", ") + ", and nothing follows " + bitText(missing, n)
}

// dimension names an index of an array.
func dimension(d, of int) string {
	switch {
	case of == 1:
		return "its index"
	case d == of-1:
		return "its column"
	case d == of-2:
		return "its row"
	}
	return fmt.Sprintf("its index %d", d)
}

// bitText words bits of a warp's number below n: "warp % 2", "warp / 4".
func bitText(set, n int) string {
	lo, hi := set&-set, 1<<(bits.Len(uint(set))-1)
	if set != 2*hi-lo {
		var parts []string
		for ; set != 0; set &= set - 1 {
			parts = append(parts, bitText(set&-set, n))
		}
		return strings.Join(parts, " and ")
	}
	text := "warp"
	if lo > 1 {
		text += fmt.Sprintf(" / %d", lo)
	}
	if 2*hi < n {
		text += fmt.Sprintf(" %% %d", 2*hi/lo)
	}
	return text
}

// step words how far apart warps begin, where each writes more than that; "" where they do not begin at one
// distance, or in more than one dimension.
func step(boxes []indexBox, follows []int) string {
	at := -1
	for d, set := range follows {
		if set != 0 && at >= 0 {
			return ""
		} else if set != 0 {
			at = d
		}
	}
	if at < 0 {
		return ""
	}
	by, each := boxes[1][at][0]-boxes[0][at][0], boxes[0][at][1]-boxes[0][at][0]
	for i := 1; i < len(boxes); i++ {
		if boxes[i][at][0]-boxes[i-1][at][0] != by {
			return ""
		}
	}
	if by <= 0 || by >= each {
		return ""
	}
	return fmt.Sprintf("%s is %d further from warp to warp, and each writes %d", dimension(at, len(follows)),
		by, each)
}
