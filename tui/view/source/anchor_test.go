package source

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/walk"
)

// TestAStatementIsFoundAgain: where a source has changed, a statement is found by its text and its
// neighbours; where it was taken out, the next one like it is not taken for it.
func TestAStatementIsFoundAgain(t *testing.T) {
	const before = `void k()
{
    // first
    a = x[0];
    __syncthreads();
    b = a * 2;
    __syncthreads();
    c = b + 1;
    if (c) {
        y[0] = c;
    }
}`
	code := strings.Split(before, "\n")
	insert := func(at int, lines ...string) []string {
		return slices.Insert(slices.Clone(code), at-1, lines...)
	}
	remove := func(line int) []string { return slices.Delete(slices.Clone(code), line-1, line) }
	replace := func(line int, with string) []string {
		out := slices.Clone(code)
		out[line-1] = with
		return out
	}
	for _, c := range []struct {
		name       string
		line, want int
		after      []string
	}{
		{"nothing changed", 6, 6, code},
		{"comments above", 6, 8, insert(4, "// one", "// two")},
		{"comments just above", 6, 8, insert(6, "// one", "// two")},
		{"a line less", 8, 7, remove(4)},
		{"of two alike the one between its neighbours", 7, 9, insert(1, "int i;", "int j;")},
		{"of two alike one that came to the other's place", 7, 5, slices.Delete(slices.Clone(code), 3, 5)},
		{"edited where it stands", 6, 6, replace(6, "    b = a * 3;")},
		{"indented anew", 8, 8, replace(8, "\t\tc = b + 1;")},
		{"a barrier that was taken out", 5, 0, remove(5)},
		{"a statement that was taken out", 6, 0, remove(6)},
		{"a bracket", 11, 12, insert(2, "int i;")},
		{"another file", 6, 0, []string{"int main() { return 0; }"}},
	} {
		if got := readText(c.after).find(readText(code).anchor(c.line), c.line); got != c.want {
			t.Errorf("%s: line %d is now %d, want %d", c.name, c.line, got, c.want)
		}
	}
	if a := readText(code).anchor(99); a != (anchor{}) {
		t.Errorf("a line beyond the end has the anchor %+v", a)
	}
}

// TestOnce: of two breakpoints at one place one is left, and one that stops nothing takes no other's place.
func TestOnce(t *testing.T) {
	at := walk.Breakpoint{File: "k.cu", Line: 67}
	list := once([]stop{
		{Breakpoint: at, id: 1, lost: true}, {Breakpoint: at, id: 2}, {Breakpoint: at, id: 3},
	})
	if len(list) != 2 || list[0].id != 1 || list[1].id != 2 {
		t.Errorf("%v are left", list)
	}
}
