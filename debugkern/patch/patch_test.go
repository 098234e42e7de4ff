package patch

import (
	"errors"
	"strings"
	"testing"
)

const ten = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

// apply applies diffs, each of which is named by its number from 1, to the text a.cu.
func apply(t *testing.T, text string, diffs ...string) (string, error) {
	t.Helper()
	var list []*Patch
	for i, d := range diffs {
		p, err := Parse(string(rune('1'+i))+".patch", []byte(d))
		if err != nil {
			return "", err
		}
		list = append(list, p)
	}
	out, err := Apply(func(name string) (string, error) {
		if name != "a.cu" {
			return "", errors.New("no such text")
		}
		return text, nil
	}, list...)
	return out["a.cu"], err
}

const names = "--- a/a.cu\n+++ b/a.cu\n"

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		diffs      []string
	}{
		"one hunk": {ten, strings.Replace(ten, "five", "FIVE", 1),
			[]string{"# says what\n" + names + "@@ -4,3 +4,3 @@\n four\n-five\n+FIVE\n six\n"}},
		"as git writes it": {ten, strings.Replace(ten, "five\n", "", 1),
			[]string{
				"diff --git a/a.cu b/a.cu\nindex 12ab..34cd 100644\n" + names +
					"@@ -5 +4,0 @@ void f()\n-five\n",
			}},
		"two hunks": {ten, strings.NewReplacer("two", "2", "nine", "9\n9").Replace(ten),
			[]string{names + "@@ -2,1 +2,1 @@\n-two\n+2\n@@ -9,1 +9,2 @@\n-nine\n+9\n+9\n"}},
		"the text has grown in front": {"zero\n" + ten, "zero\n" + strings.Replace(ten, "five", "FIVE", 1),
			[]string{names + "@@ -5,1 +5,1 @@\n-five\n+FIVE\n"}},
		"an earlier patch has grown it": {
			ten, "1\n1\n1\n" + strings.Replace(ten, "one\n", "", 1)[:len(ten)-8] + "TEN\n",
			[]string{
				names + "@@ -1,1 +1,3 @@\n-one\n+1\n+1\n+1\n", names + "@@ -10,1 +10,1 @@\n-ten\n+TEN\n",
			},
		},
		"the stated line of several": {"x\nx\nx\n", "x\ny\nx\n",
			[]string{names + "@@ -2,1 +2,1 @@\n-x\n+y\n"}},
		"the stated line, moved by an earlier patch": {"x\nx\nx\n", "a\nb\nx\ny\n",
			[]string{names + "@@ -1,1 +1,2 @@\n-x\n+a\n+b\n", names + "@@ -3,1 +3,1 @@\n-x\n+y\n"}},
		"two insertions at one place": {ten, strings.Replace(ten, "five", "first\nsecond\nfive", 1),
			[]string{
				names + "@@ -5,1 +5,2 @@\n+first\n five\n", names + "@@ -5,1 +5,2 @@\n+second\n five\n",
			}},
		"lines that end with CR LF": {"one\r\ntwo\r\n", "one\r\n2\r\n",
			[]string{names + "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"}},
		"no line feed at the end": {"one\ntwo", "one\n2",
			[]string{
				names + "@@ -2,1 +2,1 @@\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n",
			}},
		"a line feed at last": {"one\ntwo", "one\ntwo\n",
			[]string{names + "@@ -2,1 +2,1 @@\n-two\n\\ No newline at end of file\n+two\n"}},
		"an empty line of context": {"one\n\ntwo\n", "one\n\n2\n",
			[]string{names + "@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n"}},
	} {
		if got, err := apply(t, c.text, c.diffs...); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// What does not fit exactly is refused, with the diff's file and line.
func TestRefused(t *testing.T) {
	five := names + "@@ -5,1 +5,1 @@\n-five\n+FIVE\n"
	for name, c := range map[string]struct {
		text  string
		diffs []string
		want  string
	}{
		"another context": {ten, []string{names + "@@ -4,3 +4,3 @@\n for\n-five\n+FIVE\n six\n"},
			`1.patch:4: hunk 1 does not apply to a.cu: line 4 is "four", and the hunk expects "for"`},
		"the second hunk": {ten, []string{five + "@@ -8,1 +8,1 @@\n-aight\n+8\n"},
			`1.patch:7: hunk 2 does not apply to a.cu: line 8 is "eight"`},
		"past the end": {ten, []string{names + "@@ -11,1 +11,1 @@\n-eleven\n+11\n"},
			"1.patch:4: hunk 1 does not apply to a.cu: it has 10 lines"},
		"several places": {"a\nx\nx\nx\n", []string{names + "@@ -1,1 +1,1 @@\n-x\n+y\n"},
			"1.patch:3: hunk 1 is not at line 1 of a.cu, and its lines stand at 3 places (lines 2 and 3)"},
		"only before": {ten, []string{five + "@@ -7,1 +7,1 @@\n-two\n+2\n"},
			`1.patch:7: hunk 2 does not apply`},
		"CR LF in the text": {"one\r\n", []string{names + "@@ -1,1 +1,1 @@\n-one\n+1\n"},
			`line 1 is "one" (with CR LF at its end), and the hunk expects "one"`},
		"CR LF in the diff": {"one\n", []string{names + "@@ -1,1 +1,1 @@\n-one\r\n+1\r\n"},
			`the hunk expects "one" (with CR LF at its end)`},
		"a line feed too many": {"one\ntwo", []string{names + "@@ -2,1 +2,1 @@\n-two\n+2\n"},
			`line 2 is "two" (without a line feed)`},
		"a line feed too few": {
			ten, []string{names + "@@ -5,1 +5,1 @@\n-five\n+5\n\\ No newline at end of file\n"},
			`a.cu would go on behind "5" (without a line feed)`,
		},
		"the same line": {ten, []string{five, five},
			"2.patch:4: hunk 1 cannot be combined with 1.patch, which changes line 5 of a.cu too"},
		"a context that is gone": {ten, []string{five, names + "@@ -4,2 +4,2 @@\n-four\n+4\n five\n"},
			"2.patch:6: hunk 1 cannot be combined with 1.patch, which changes line 5"},
		"an insertion within": {
			ten, []string{
				names + "@@ -5,1 +5,2 @@\n+4.5\n five\n", names + "@@ -4,2 +4,2 @@\n four\n-five\n+5\n",
			}, "2.patch:5: hunk 1 cannot be combined with 1.patch",
		},
		"same lines elsewhere": {
			"x\ny\nx\n", []string{names + "@@ -1,1 +1,1 @@\n-x\n+1\n", names + "@@ -1,1 +1,1 @@\n-x\n+2\n"},
			"2.patch:4: hunk 1 cannot be combined with 1.patch",
		},
		"another text": {ten, []string{"--- a/b.cu\n+++ b/b.cu\n@@ -1,1 +1,1 @@\n-one\n+1\n"},
			"1.patch: b.cu: no such text"},
	} {
		got, err := apply(t, c.text, c.diffs...)
		if err == nil || got != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want an error with %q", name, got, err, c.want)
		}
	}
}

// What is no unified diff of existing files, or has other lines than it counts, is refused before
// anything is applied.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "p: no unified diff"},
		"prose":             {"a\nb\n", "p: no unified diff"},
		"no hunk":           {names, "p: no hunk for a.cu"},
		"hunk without file": {"@@ -1,1 +1,1 @@\n-a\n+b\n", "p:1: a hunk before"},
		"no such header":    {names + "@@ one @@\n", "p:3: "},
		"out of range":      {names + "@@ -99999999999999999999 +1 @@\n-a\n+b\n", "p:3: "},
		"line zero":         {names + "@@ -0,1 +1,1 @@\n-a\n+b\n", "p:3: lines are counted from 1"},
		"no old line": {names + "@@ -3,0 +4,1 @@\n+a\n",
			"p:3: a hunk without any line of the old text"},
		"counts too many": {names + "@@ -1,2 +1,2 @@\n-a\n+b\n",
			"p:5: the file ends within the hunk of line 3"},
		"counts too few": {names + "@@ -1,1 +1,1 @@\n-a\n+b\n+c\n", `p:6: "+c" belongs to no hunk`},
		"other counts": {names + "@@ -1,2 +1,1 @@\n-a\n+b\n+c\n",
			"p:6: the hunk of line 3 has other lines"},
		"other beginning": {names + "@@ -1,2 +1,2 @@\n-a\n*b\n", `p:5: a line of a hunk begins with`},
		"prose after a hunk": {names + "@@ -1,1 +1,1 @@\n-a\n+b\nand so on\n",
			`p:6: "and so on" belongs to no hunk`},
		"overlapping hunks": {names + "@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -2,1 +2,1 @@\n-c\n+d\n",
			"p:7: hunk 2 overlaps hunk 1"},
		"hunks backwards": {names + "@@ -5,1 +5,1 @@\n-a\n+b\n@@ -2,1 +2,1 @@\n-c\n+d\n",
			"p:6: hunk 2 overlaps hunk 1, or comes before it"},
		"a new file": {"--- /dev/null\n+++ b/a.cu\n@@ -0,0 +1,1 @@\n+a\n",
			"p:1: a patch that adds or removes a file"},
		"another name": {"--- a/a.cu\n+++ b/b.cu\n@@ -1,1 +1,1 @@\n-a\n+b\n",
			`p:1: a patch that renames "a.cu" to "b.cu"`},
		"outside":  {"--- a/../a.cu\n+++ b/../a.cu\n@@ -1,1 +1,1 @@\n-a\n+b\n", "p:2: "},
		"absolute": {"--- /etc/passwd\n+++ /etc/passwd\n@@ -1,1 +1,1 @@\n-a\n+b\n", "p:2: "},
		"a file twice": {names + "@@ -1,1 +1,1 @@\n-a\n+b\n" + names + "@@ -3,1 +3,1 @@\n-a\n+b\n",
			"p:6: a.cu comes twice"},
	} {
		_, err := Parse("p", []byte(c.text))
		var located *Error
		if !errors.As(err, &located) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// A patch of several texts changes each of them.
func TestSeveralTexts(t *testing.T) {
	p, err := Parse("p",
		[]byte(names+
			"@@ -1,1 +1,1 @@\n-one\n+1\n--- a/b.cuh\t2026-01-01\n+++ b/b.cuh\t2026-01-02\n@@ -1,1 +1,1 @@\n-uno\n+I\n"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"a.cu": "one\n", "b.cuh": "uno\n"}
	out, err := Apply(func(name string) (string, error) { return texts[name], nil }, p)
	if err != nil || len(out) != 2 || out["a.cu"] != "1\n" || out["b.cuh"] != "I\n" ||
		strings.Join(p.Changes(), " ") != "a.cu b.cuh" {
		t.Errorf("%q, %v", out, err)
	}
}

// FuzzParse: whatever is read either applies or is an error, and what is refused leaves nothing.
func FuzzParse(f *testing.F) {
	f.Add(names+"@@ -4,3 +4,3 @@\n four\n-five\n+FIVE\n six\n", ten)
	f.Add(names+"@@ -2,1 +2,1 @@\n-two\n\\ No newline at end of file\n+2\n", "one\ntwo")
	f.Fuzz(func(t *testing.T, diff, text string) {
		p, err := Parse("p", []byte(diff))
		if err != nil {
			return
		}
		out, err := Apply(func(string) (string, error) { return text, nil }, p, p)
		if err == nil && len(out) != len(p.Files) {
			t.Errorf("%d texts of %d", len(out), len(p.Files))
		}
	})
}
