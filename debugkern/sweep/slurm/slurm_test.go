//go:build unix

package slurm_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep/job"
	"tilescope/debugkern/sweep/slurm"
)

// commands puts shell scripts into a folder that is all of PATH, but for the shell's own tools.
func commands(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for name, text := range scripts {
		text = "#!/bin/sh\nd='" + dir + "'\n" + text
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func opened(t *testing.T, script, options string) *slurm.Slurm {
	t.Helper()
	s, err := slurm.New(script, options, "gpu:h100:1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// submits numbers jobs from 101 and records each one's words and script.
const submits = `n=$(cat "$d/n" 2>/dev/null || echo 100); n=$((n + 1)); echo $n >"$d/n"
for w in "$@"; do echo "$w"; done >"$d/words.$n"
cat >"$d/script.$n"
echo "$n;cluster"
`

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSubmit: one array for every MaxArraySize shards, a merge after all of them, the user's options and
// template.
func TestSubmit(t *testing.T) {
	dir := commands(t, map[string]string{
		"sbatch": submits, "scontrol": "echo 'Configuration data'; echo 'MaxArraySize            = 4'\n",
	})
	p := &job.Shards{
		Key: "0123456789abcdef", Dir: t.TempDir(), Work: "/work dir", Program: "/opt/tile scope",
		Sweep: []string{"sweep", "stage2", "--seeds=0-9", "--out=/o"},
		Of:    10, Parts: []int{0, 1, 3, 5, 9}, Tries: 2, GPU: true,
	}
	s := opened(t, "#!/bin/bash\n#SBATCH --nice\nmodule load cuda\n{{.Command}}\n# {{.Name}} of {{.Dir}}\n",
		"--partition=long --comment='two words'")
	jobs, err := s.Submit(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want := []job.Job{{ID: "101"}, {ID: "102", First: 4}, {ID: "103", First: 8}, {ID: "104", Merge: true}}
	if !reflect.DeepEqual(jobs, want) {
		t.Errorf("jobs %+v", jobs)
	}
	if got, want := read(t, dir, "words.102"), strings.Join([]string{
		"--parsable", "--job-name=tilescope-01234567", "--chdir=/work dir", "--open-mode=append",
		"--partition=long", "--comment=two words", "--array=1", "--requeue",
		"--output=" + p.Dir + "/jobs/%A_%a.out", "--gres=gpu:h100:1", "",
	}, "\n"); got != want {
		t.Errorf("words\n%s\nwant\n%s", got, want)
	}
	if words := read(t, dir, "words.101"); !strings.Contains(words, "--array=0-1,3\n") {
		t.Errorf("words of the first array: %s", words)
	}
	script := read(t, dir, "script.102")
	for _, want := range []string{
		"#!/bin/bash\n#SBATCH --nice\nmodule load cuda\n", "for try in 1 2; do",
		`'/opt/tile scope' sweep stage2 --seeds=0-9 --out=/o --jobs "${SLURM_CPUS_ON_NODE:-1}" ` +
			`--shard "$((SLURM_ARRAY_TASK_ID + 4))/10"`,
		"# tilescope-01234567 of " + p.Dir,
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
	if words := read(t, dir, "words.104"); !strings.Contains(words, "--dependency=afterany:101:102:103\n") ||
		strings.Contains(words, "--gres") {
		t.Errorf("words of the merge: %s", words)
	}
	script = read(t, dir, "script.104")
	if !strings.Contains(script, "'/opt/tile scope' sweep merge "+p.Dir) {
		t.Errorf("script of the merge: %s", script)
	}
}

// TestScript: a shard's command is tried again where it dies, not where it is refused or cancelled, and its
// exit code is the last try's.
func TestScript(t *testing.T) {
	for _, c := range []struct{ codes, want, tries string }{
		{"0", "0", "1"}, {"137 0", "0", "2"}, {"137 137 1", "1", "3"}, {"2", "2", "1"}, {"130", "130", "1"},
	} {
		dir := commands(t, map[string]string{
			"sleep": "", "tilescope": `n=$(($(cat "$d/n" 2>/dev/null || echo 0) + 1)); echo $n >"$d/n"
echo "$@" >"$d/words"
set -- ` + c.codes + `
shift $((n - 1)); exit $1
`,
			"sbatch": submits, "scontrol": "",
		})
		p := &job.Shards{Key: "0123456789", Dir: t.TempDir(), Program: filepath.Join(dir, "tilescope"),
			Sweep: []string{"sweep", "k"}, Of: 7, Parts: []int{5}, Tries: 3, Jobs: 6}
		s := opened(t, "", "")
		if _, err := s.Submit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "n"))
		t.Setenv("SLURM_ARRAY_TASK_ID", "5")
		_, err := job.Command(t.Context(), "", "sh", filepath.Join(dir, "script.101"))
		code := "0"
		if err != nil {
			code = strings.TrimPrefix(errors.Unwrap(err).Error(), "exit status ")
		}
		if n := strings.TrimSpace(read(t, dir, "n")); code != c.want || n != c.tries {
			t.Errorf("%s: exit code %s, want %s, after %s tries", c.codes, code, c.want, n)
		}
		if words := read(t, dir, "words"); words != "sweep k --jobs 6 --shard 5/7\n" {
			t.Errorf("words: %s", words)
		}
	}
}

// TestRefused: what Slurm refuses, and settings that cannot be used.
func TestRefused(t *testing.T) {
	commands(t, map[string]string{
		"sbatch":   "echo 'sbatch: error: invalid partition specified: nope' >&2; exit 1\n",
		"scontrol": "echo 'MaxArraySize = 1001'\n",
	})
	p := &job.Shards{Key: "0123456789", Dir: t.TempDir(), Of: 1, Parts: []int{0}, Tries: 1}
	var coded *report.Error
	_, err := opened(t, "", "").Submit(t.Context(), p)
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
		!strings.Contains(err.Error(), "invalid partition specified: nope") {
		t.Error(err)
	}
	t.Setenv("PATH", commands(t, nil))
	if _, err := opened(t, "", "").Submit(t.Context(), p); !errors.As(err, &coded) ||
		coded.Code != report.CodeUnavailable {
		t.Errorf("without Slurm: %v", err)
	}
	commands(t, map[string]string{"scontrol": "echo 'scontrol: fatal: no configuration' >&2; exit 1\n"})
	if _, err := opened(t, "", "").Submit(t.Context(), p); !errors.As(err, &coded) ||
		coded.Code != report.CodeUnavailable || !strings.Contains(err.Error(), "fatal: no configuration") {
		t.Errorf("without a cluster: %v", err)
	}
	commands(t, map[string]string{"scontrol": "echo 'MaxArraySize = 0'\n"})
	if _, err := opened(t, "", "").Submit(t.Context(), p); err == nil ||
		!strings.Contains(err.Error(), "takes no array jobs") {
		t.Error(err)
	}
	for want, c := range map[string][2]string{
		"no {{.Command}}":                      {"#!/bin/sh\ntrue\n", ""},
		"first line such as #!/bin/sh":         {"{{.Command}}\n", ""},
		"slurm.template":                       {"#!/bin/sh\n{{.Comand}}\n", ""},
		"slurm.options: a quote in \"--a='b\"": {"", "--a='b"},
	} {
		if _, err := slurm.New(c[0], c[1], ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestCount: states of squeue; jobs that the controller no longer has are ended; other failures are errors.
func TestCount(t *testing.T) {
	jobs := []job.Job{{ID: "101"}, {ID: "102", First: 4}}
	for _, c := range []struct {
		script, want string
	}{
		{`[ "$3" = --jobs=101,102 ] || exit 9
echo 'RUNNING None'; echo 'PENDING Priority'; echo 'PENDING Resources'; echo 'PENDING Resources'; echo 'COMPLETING None'
`, "{3 2 Resources} <nil>"},
		{"", "{0 0 } <nil>"},
		{"echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n", "{0 0 } <nil>"},
		{"echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n",
			"{0 0 } squeue: slurm_load_jobs error: Unable to contact slurm controller (connect failure)"},
	} {
		commands(t, map[string]string{"squeue": c.script})
		n, err := opened(t, "", "").Count(t.Context(), jobs)
		if got := fmt.Sprint(n, " ", err); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestEnded: why shards died, where accounting is there.
func TestEnded(t *testing.T) {
	jobs := []job.Job{{ID: "101"}, {ID: "102", First: 4}}
	commands(t, map[string]string{"sacct": `case "$*" in
*--jobs=101*) echo '101_0|COMPLETED|0:0'; echo '101_2|OUT_OF_MEMORY|0:125' ;;
*) echo '102_1|NODE_FAIL|0:0'; echo '102_[2-3]|PENDING|0:0' ;;
esac
`})
	got := opened(t, "", "").Ended(t.Context(), jobs)
	want := map[int]string{2: "OUT_OF_MEMORY, exit code 0:125", 5: "NODE_FAIL, exit code 0:0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	commands(t, map[string]string{"sacct": "echo 'Slurm accounting storage is disabled' >&2; exit 1\n"})
	if got := opened(t, "", "").Ended(t.Context(), jobs); len(got) > 0 {
		t.Errorf("without accounting: %v", got)
	}
}

func TestCancel(t *testing.T) {
	dir := commands(t, map[string]string{"scancel": `echo "$@" >"$d/words"` + "\n"})
	s := opened(t, "", "")
	if err := s.Cancel(t.Context(), []job.Job{{ID: "101"}, {ID: "104", Merge: true}}); err != nil {
		t.Error(err)
	}
	if got := read(t, dir, "words"); got != "--quiet 101 104\n" {
		t.Errorf("scancel %s", got)
	}
	commands(t, map[string]string{"scancel": "echo 'scancel: error: denied' >&2; exit 1\n"})
	err := s.Cancel(t.Context(), []job.Job{{ID: "101"}})
	if err == nil || err.Error() != "scancel: scancel: error: denied" {
		t.Error(err)
	}
}
