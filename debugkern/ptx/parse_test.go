package ptx

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var wantError = regexp.MustCompile(`// ERROR "(.*)"\s*$`)

// TestExpectedErrors reads testdata/bad: every error must stand on a line that expects it, and every expected
// error must come. Files that parse are validated.
func TestExpectedErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatal("testdata/bad is empty", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src := readFile(t, file)
			want := map[int]*regexp.Regexp{}
			for i, line := range strings.Split(string(src), "\n") {
				if m := wantError.FindStringSubmatch(line); m != nil {
					want[i+1] = regexp.MustCompile(m[1])
				}
			}
			if len(want) == 0 {
				t.Fatal("expects no error")
			}
			m, err := Parse(file, src)
			if err == nil {
				err = Validate(m)
			}
			var got Errors
			if !errors.As(err, &got) {
				t.Fatalf("no error: %v", err)
			}
			for _, e := range got {
				re := want[e.Pos.Line]
				if re == nil || !re.MatchString(e.Msg) || e.Pos.File != file || e.Pos.Col < 1 {
					t.Errorf("unexpected: %v (want %v)", e, re)
				}
				delete(want, e.Pos.Line)
			}
			for line, re := range want {
				t.Errorf("%s:%d: no error matching %q", file, line, re)
			}
		})
	}
}

func TestGoodFilesAreValid(t *testing.T) {
	files, _ := filepath.Glob("testdata/good/*.ptx")
	if len(files) < 4 {
		t.Fatal("testdata/good is empty")
	}
	for _, file := range files {
		if err := Validate(mustParse(t, file, readFile(t, file))); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// TestNotText gives Parse files that are no PTX at all.
func TestNotText(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "m.ptx:1:1: empty file, not PTX"},
		{" \n\x00", "m.ptx:1:1: empty file, not PTX"},
		{"\x7fELF\x02\x01", "m.ptx:1:1: an ELF file (a cubin or object), not PTX text"},
		{"\x50\xed\x55\xba\x01", "m.ptx:1:1: a fat binary, not PTX text"},
		{".version 8.0\x00\x01\x02\n", "m.ptx:1:1: binary data (a zero byte at offset 12), not PTX text"},
		{"\x1f\x8b\x08", "m.ptx:1:1: a compressed file, not PTX text"},
		{".version 8.0\n.target sm_80\n.address_size 48\n", "m.ptx:3:15: address size must be 32 or 64"},
		{".version 8.0\n\"abc", "m.ptx:2:1: string is not closed on its line"},
		{".version 8.0 /* never", "m.ptx:1:14: comment is not closed"},
		{"\xff\xfe\x01", "m.ptx:1:1: unexpected character 0xff"},
	} {
		_, err := Parse("m.ptx", []byte(c.src))
		if err == nil || strings.Split(err.Error(), "\n")[0] != c.want {
			t.Errorf("%q: got %v, want %s", c.src, err, c.want)
		}
	}
}

// TestTruncated cuts a compiler's output at many places: the error is always located, within the text.
func TestTruncated(t *testing.T) {
	src := readFile(t, "testdata/compiled/mma.ptx")
	whole := mustParse(t, "m", src)
	end := whole.Funcs[len(whole.Funcs)-1].End
	lines := strings.Count(string(src), "\n") + 1
	for n := 0; n < len(src); n += 97 {
		m, err := Parse("m", src[:n])
		if err == nil {
			if at := strings.Count(string(src[:n]), "\n") + 1; at < end.Line && len(m.Funcs) > 0 {
				t.Errorf("cut at %d, line %d: no error", n, at)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Pos.Line < 1 || e.Pos.Line > lines {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func TestErrorLimit(t *testing.T) {
	src := ".version 8.0\n.target sm_80\n.visible .entry k() {\n" +
		strings.Repeat("mov.u32 %r1, 0;\n", 1000) + "}\n"
	_, err := Parse("m", []byte(src))
	var es Errors
	if !errors.As(err, &es) || len(es) != maxErrors {
		t.Fatalf("%d errors, want %d", len(es), maxErrors)
	}
	if want := "m:4:9: register %r1 is not declared"; es[0].Error() != want {
		t.Errorf("got %s, want %s", es[0], want)
	}
}

// mustBehave is what holds for any input: a located error, or a module whose printed text reads
// and prints the same.
func mustBehave(t *testing.T, src []byte) {
	m, err := Parse("fuzz.ptx", src)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Pos.File != "fuzz.ptx" || e.Pos.Line < 1 || e.Pos.Col < 1 || e.Msg == "" {
			t.Fatalf("error without a place: %v\n%s", err, src)
		}
		return
	}
	_ = Validate(m)
	for _, e := range m.Entries() {
		m.SharedLayout(e)
		for i := range e.Body {
			e.Source(i, library)
		}
	}
	var a, b strings.Builder
	if err := Print(&a, m); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("fuzz.ptx", []byte(a.String()))
	if err != nil {
		t.Fatalf("printed text does not parse: %v\n%s", err, a.String())
	}
	if err := Print(&b, again); err != nil || a.String() != b.String() {
		t.Fatalf("printing is not stable: %v\n%s", err,
			firstDifference([]byte(a.String()), []byte(b.String())))
	}
	if !same(m, again) {
		t.Fatalf("parse, print, parse changed the module:\n%s", a.String())
	}
}

func seeds(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, dir := range []string{"good", "bad"} {
		files, _ := filepath.Glob("testdata/" + dir + "/*.ptx")
		for _, file := range files {
			all = append(all, readFile(t, file))
		}
	}
	for _, line := range strings.Split(string(readFile(t, "testdata/assembler.txt")), "\n") {
		if _, instr, ok := strings.Cut(line, "\t"); ok {
			all = append(all, []byte(strings.Replace(oneInstruction, "INSTRUCTION", instr, 1)))
		}
	}
	return all
}

// TestMutations edits good texts token by token (drop, repeat, swap, replace by one from elsewhere), in a
// fixed random order: nearly right texts reach further than a fuzzer's bytes.
func TestMutations(t *testing.T) {
	var words [][]string
	var pool []string
	for _, src := range seeds(t) {
		var ws []string
		s := scanner{src: string(src), line: 1, report: func(int, int, string) {}}
		for at := 0; ; {
			tok := s.next()
			if tok.kind == tokEOF {
				break
			}
			ws = append(ws, string(src[at:tok.end]))
			at = tok.end
		}
		words = append(words, ws)
		pool = append(pool, ws...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	n := 6000
	if testing.Short() {
		n = 500
	}
	for range n {
		ws := slices.Clone(words[rng.IntN(len(words))])
		for range 1 + rng.IntN(3) {
			i, j := rng.IntN(len(ws)), rng.IntN(len(ws))
			switch rng.IntN(5) {
			case 0:
				ws[i] = ""
			case 1:
				ws[i] += " " + ws[i]
			case 2:
				ws[i], ws[j] = ws[j], ws[i]
			case 3:
				ws[i] = " " + pool[rng.IntN(len(pool))]
			case 4:
				ws[i] += " " + pool[rng.IntN(len(pool))]
			}
		}
		mustBehave(t, []byte(strings.Join(ws, "")))
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range seeds(f) {
		f.Add(src)
	}
	f.Fuzz(mustBehave)
}

// BenchmarkParse reads 60 KB of compiler output with debug lines.
func BenchmarkParse(b *testing.B) {
	text := string(readFile(b, "testdata/compiled/wmma.ptx"))
	body := text[strings.Index(text, ".visible .entry"):strings.Index(text, "\t.file\t1")]
	src := text[:strings.Index(text, ".visible .entry")]
	for i := 0; len(src) < 50<<10; i++ {
		src += strings.ReplaceAll(body, "tile_product", "tile_product"+string(rune('a'+i)))
	}
	src += text[strings.Index(text, "\t.file\t1"):]
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("m", []byte(src)); err != nil {
			b.Fatal(err)
		}
	}
}
