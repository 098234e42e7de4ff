package ptxtest

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
)

// TestDamage: the same seed gives the same text, other seeds others, and enough of them still parse for a
// fuzz target to get behind the parser.
func TestDamage(t *testing.T) {
	b, err := os.ReadFile("../testdata/compiled/wmma.ptx")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name, damage := range map[string]func(*rand.Rand, string, string, int) string{
		"statements": Statements, "tokens": Tokens,
	} {
		const seeds = 200
		made, parsed := map[string]bool{}, 0
		for seed := range uint64(seeds) {
			got := damage(rand.New(rand.NewPCG(seed, 1)), text, text, 2)
			if again := damage(rand.New(rand.NewPCG(seed, 1)), text, text, 2); again != got {
				t.Fatalf("%s: seed %d gives two texts", name, seed)
			}
			if got != text {
				made[got] = true
			}
			if _, err := ptx.Parse("damaged.ptx", []byte(got)); err == nil {
				parsed++
			}
		}
		if len(made) < seeds/2 || parsed < seeds/20 {
			t.Errorf("%s: %d texts of %d seeds, %d of them parse", name, len(made), seeds, parsed)
		}
	}
	if got := Tokens(rand.New(rand.NewPCG(1, 1)), "\tadd.u32 %r1, %r2, 7;", "\tadd.u32 %r1, %r2, 7;",
		50); strings.Contains(got, "\n") {
		t.Errorf("%q is of more than one line", got)
	}
}
