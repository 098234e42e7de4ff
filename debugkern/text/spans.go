package text

import (
	"fmt"
	"strings"
)

// Spans writes numbers in order as ranges: "0–3, 8".
func Spans(list []int) string {
	var out []string
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[n-1]+1 {
			n++
		}
		if n > 2 {
			out = append(out, fmt.Sprintf("%d–%d", list[0], list[n-1]))
		} else {
			for _, x := range list[:n] {
				out = append(out, fmt.Sprint(x))
			}
		}
		list = list[n:]
	}
	return strings.Join(out, ", ")
}
