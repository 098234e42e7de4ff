package scaffold

import (
	"regexp"
	"strconv"
	"strings"

	"tilescope/probes"
)

// sharedArray is a shared array as CUDA source declares it: its sides are numbers or names of constants.
type sharedArray struct {
	dtype probes.DType
	sides []string
}

var (
	sharedText = regexp.MustCompile(`__shared__\s+([^;={(]*(?:\([^)]*\)[^;={(]*)*);`)
	alignment  = regexp.MustCompile(`\b(__align__|alignas)\s*\([^)]*\)`)
	declarator = regexp.MustCompile(`^(.*?)([A-Za-z_]\w*)\s*((?:\[\s*\w+\s*\]\s*)+)$`)
	side       = regexp.MustCompile(`\w+`)
)

// declaredShared reads the shared arrays out of CUDA source, by name: those of a type that it recognises and
// with extents it can name. A name that is declared in two ways is left out: which of them a kernel has is
// not plain.
func declaredShared(source string) map[string]sharedArray {
	out, twice := map[string]sharedArray{}, map[string]bool{}
	for _, m := range sharedText.FindAllStringSubmatch(comments.ReplaceAllString(source, " "), -1) {
		text := qualifier.ReplaceAllString(alignment.ReplaceAllString(m[1], " "), " ")
		kind := ""
		for i, d := range strings.Split(text, ",") {
			p := declarator.FindStringSubmatch(strings.TrimSpace(d))
			if i == 0 && p != nil {
				kind = strings.Join(strings.Fields(p[1]), " ")
			}
			if p == nil || cTypes[kind] == 0 {
				continue
			}
			a := sharedArray{cTypes[kind], side.FindAllString(p[3], -1)}
			if old, ok := out[p[2]]; ok && (old.dtype != a.dtype || strings.Join(old.sides, " ") != strings.Join(a.sides, " ")) {
				twice[p[2]] = true
			}
			out[p[2]] = a
		}
	}
	for name := range twice {
		delete(out, name)
	}
	return out
}

// bytes is the size of an array; ok is false where a side is neither a number nor one of the constants.
func (a *sharedArray) bytes(constants map[string]int32) (n int, ok bool) {
	n = a.dtype.Size()
	for _, s := range a.sides {
		v, err := strconv.ParseInt(s, 10, 32)
		if c, known := constants[s]; err != nil && known {
			v, err = int64(c), nil
		}
		if err != nil || v <= 0 || n > 1<<24 {
			return 0, false
		}
		n *= int(v)
	}
	return n, true
}
