package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tilescope/configs"
	"tilescope/debugkern/text"
)

// hostileTexts do something to a terminal that obeys them. None has what a file's name cannot have.
var hostileTexts = []string{
	"\x1b]52;c;ZXZpbA==\x07", "\x1b[2J\x1b[H", "\u009b31m", "\u202egnp.exe\u202c", "a\u200bb\u2066c",
	"\b\r\x7f", "\xff\x9b2J",
}

// harmless fails where output has anything that is obeyed instead of shown, or where a document does not
// decode.
func harmless(t *testing.T, args []string, stdout, stderr string) {
	t.Helper()
	for name, s := range map[string]string{"output": stdout, "error": stderr} {
		for i, r := range s {
			if text.Hidden(r) && r != '\n' && r != '\t' ||
				r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
				t.Errorf("%q: standard %s has %.40q", args, name, s[i:])
				break
			}
		}
	}
	if args[len(args)-1] == "--json" && stdout != "" && !json.Valid([]byte(stdout)) {
		t.Errorf("%q: no document: %s", args, stdout)
	}
}

// callHarmless runs a command as text and for programs, and returns both outputs of the former.
func callHarmless(t *testing.T, args ...string) string {
	t.Helper()
	out, errText, _ := call(t, args...)
	harmless(t, args, out, errText)
	both := out + errText
	args = append(append([]string{}, args...), "--json")
	out, errText, _ = call(t, args...)
	harmless(t, args, out, errText)
	return both
}

// TestHostileArgumentsAndFileNames: what is typed comes back in messages, and as names of files that exist.
func TestHostileArgumentsAndFileNames(t *testing.T) {
	t.Parallel()
	for _, evil := range hostileTexts {
		dir := t.TempDir()
		for _, ext := range []string{".ptx", ".cu", ".yaml", ".h", ".npz"} {
			if err := os.WriteFile(filepath.Join(dir, evil+ext), []byte("no such thing "+evil+"\n"),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, evil)
		out, errText, _ := call(t, "help", evil) // help is text, whatever else is asked for
		harmless(t, []string{"help", evil}, out, errText)
		for _, args := range [][]string{
			{evil}, {"run", evil}, {"run", file + ".ptx"}, {"run", file + ".yaml"},
			{"diagnose", file + ".yaml"}, {"gates", evil}, {"gates", file + ".yaml"},
			{"compare", file + ".yaml", evil}, {"compare", "stage2", "stage2", "--dump", evil, evil},
			{"bisect", evil, file + ".yaml"}, {"init", file + ".ptx"}, {"init", file + ".nosuch"},
			{"lut", file + ".h"}, {"config", "get", evil}, {"config", evil}, {"version", evil},
			{"run", "--" + evil}, {"run", "stage2", "--shape", evil}, {"run", "stage2", "--fault", evil},
			{"run", "stage2", "--set", evil + "=1"}, {"run", "stage2", "--gate", evil},
			{"run", "stage2", "--arch", evil}, {"run", "stage2", "--schedule", evil},
			{"run", "stage2", "--inputs", file + ".npz"}, {"run", "stage2", "--inputs", evil},
			{"run", "stage2", "--dump", evil + "/x"}, {"run", "stage2", "--blocks", evil},
			{"run", "stage2", "--seed", evil}, {"run", "stage2", "--stages", evil},
			{"run", "stage2", "-D", evil}, {"gates", "--shapes", evil, "stage2"},
		} {
			if both := callHarmless(t, args...); both == "" {
				t.Errorf("%q says nothing", args)
			}
		}
	}
}

// TestHostileManifests: keys, values and comments of YAML, and names within PTX.
func TestHostileManifests(t *testing.T) {
	t.Parallel()
	ptx := string(stage2PTX(t, "TS_PROBES=1"))
	for _, evil := range hostileTexts {
		quoted := fmt.Sprintf("%+q", strings.ToValidUTF8(evil, "?"))
		for name, edit := range map[string]func(string) string{
			"key": func(s string) string { return s + "\n" + quoted + ": 1\n" },
			"value": func(s string) string {
				return strings.Replace(s, "schema: ", "schema: "+quoted+" #", 1)
			},
			"name": func(s string) string {
				return strings.Replace(s, "\nname: ", "\nname: "+quoted+" #", 1)
			},
			"title": func(s string) string {
				return strings.Replace(s, "\ntitle: ", "\ntitle: "+quoted+" #", 1)
			},
			"entry": func(s string) string {
				return strings.Replace(s, "\nentry: ", "\nentry: "+quoted+" #", 1)
			},
			"raw bytes": func(s string) string { return evil + ": " + evil + "\n" + s },
		} {
			path := ownManifest(t, []byte(ptx), edit)
			both := callHarmless(t, "run", path, "--shape", "small", "--backend", "emu")
			if name == "key" && !strings.Contains(both, "own.yaml") {
				t.Errorf("%s %q: %s", name, evil, both)
			}
		}
		for _, broken := range []string{
			evil, strings.Replace(ptx, "ret;", evil+" %r1;\n\tret;", 1),
			strings.Replace(ptx, "sdpa_fp8_stage_c_wmma(", "k"+evil+"(", 1),
		} {
			callHarmless(t, "run", ownManifest(t, []byte(broken), nil), "--backend", "emu")
		}
	}
}

// TestHostileFileNamesInFindings: the source that PTX names in .file is where findings and cells are placed.
func TestHostileFileNamesInFindings(t *testing.T) {
	t.Parallel()
	ptx := strings.ReplaceAll(string(stage2PTX(t, "TS_PROBES=1")), "bar.sync", "// bar.sync")
	for _, evil := range hostileTexts[:4] {
		path := ownManifest(t, []byte(strings.ReplaceAll(ptx, "sdpa_fp8_stage_c_wmma.cu\"", evil+".cu\"")),
			nil)
		both := callHarmless(t, "run", path, "--shape", "small", "--backend", "emu")
		if want := strings.TrimSpace(text.Terminal(evil)); !strings.Contains(both, want) {
			t.Errorf("%q is not shown as %q: %s", evil, want, both)
		}
	}
}

// TestHostileArchives: names and bytes of an .npz.
func TestHostileArchives(t *testing.T) {
	for _, evil := range hostileTexts {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range []string{evil + ".npy", "Q" + evil} {
			if f, err := w.Create(name); err != nil {
				t.Fatal(err)
			} else if _, err := f.Write([]byte("\x93NUMPY\x01\x00\x10\x00{'descr': '" + evil + "'}")); err !=
				nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "in.npz")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if both := callHarmless(t, "run", "stage2", "--inputs", path, "--backend",
			"emu"); !strings.Contains(both, "in.npz") {
			t.Errorf("%q: %s", evil, both)
		}
	}
}

// TestHostileSources: what #error says, the excerpt below it, and what a kernel prints by printf, as format
// and as data. Each text is compiled twice: one is tried each time, four with TILESCOPE_LONG (make
// test-long).
func TestHostileSources(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	for i, evil := range hostileTexts[:4] {
		if !turn(i, 4) {
			continue
		}
		path := ownSource(t, func(src string) string {
			return "#error " + evil + "\n__device__ int x = nope; // " + evil + "\n" + src
		})
		if both := callHarmless(t, "run", path, "--backend", "emu"); !strings.Contains(both,
			"does not compile") {
			t.Errorf("%q: %s", evil, both)
		}
		var literal strings.Builder
		for _, c := range []byte(evil) {
			fmt.Fprintf(&literal, `\%03o`, c)
		}
		path = ownSource(t, func(src string) string {
			return strings.ReplaceAll(src, "__syncthreads();",
				"if (threadIdx.x == 0) printf(\"<"+literal.String()+"> %s\\n\", \""+literal.String()+
					"\"); __syncthreads();")
		})
		if both := callHarmless(t, "run", path, "--shape", "small", "--backend", "emu", "--set",
			"USE_CP_ASYNC"); !strings.Contains(both, "<"+text.Terminal(evil)+"> "+text.Terminal(evil)) {
			t.Errorf("%q is not among what was printed: %s", evil, both)
		}
	}
}

// TestInitWritesNothingIntoTheManifest: a file's name cannot add keys to the manifest made of it, and the
// command that follows is quoted.
func TestInitWritesNothingIntoTheManifest(t *testing.T) {
	for _, name := range []string{"a\nflags: [x]\n#", "a\u2028b\u0085c", "it's;rm -rf ~", "\x1b[2J"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name+".ptx")
		if err := os.WriteFile(path, stage2PTX(t), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errText, code := call(t, "init", path)
		harmless(t, []string{"init", path}, out, errText)
		made := filepath.Join(dir, name+".yaml")
		if code != 0 || !strings.Contains(out, "tilescope run "+text.Shell(made)+"\n") {
			t.Fatalf("%q: exit %d, %s%s", name, code, out, errText)
		}
		m, err := configs.LoadManifest(t.Context(), made)
		if err != nil || len(m.Flags) != 0 || m.PTX != name+".ptx" {
			t.Errorf("%q: %v, %d flags", name, err, len(m.Flags))
		}
	}
}
