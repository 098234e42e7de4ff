//go:build unix

package kubernetes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep/job"
	"tilescope/debugkern/sweep/kubernetes"
)

// kubectl puts a shell script into PATH as kubectl; $d is the folder that is returned.
func kubectl(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	text := "#!/bin/sh\nd='" + dir + "'\necho \"$@\" >>\"$d/words\"\n" + script
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func settings(mount string) kubernetes.Settings {
	return kubernetes.Settings{
		Image: "registry.example/tilescope:1", Namespace: "kernels",
		Resources: "cpu=4,memory=8Gi,nvidia.com/gpu=1", Volume: "sweeps:" + mount, Parallelism: 16,
	}
}

func opened(t *testing.T, set kubernetes.Settings) *kubernetes.Kubernetes {
	t.Helper()
	k, err := kubernetes.New(file.New(), set)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func shards(dir string, of int, parts ...int) *job.Shards {
	return &job.Shards{
		Key: "0123456789abcdef", Dir: dir, Work: "/elsewhere", Program: "/home/me/tilescope",
		Sweep: []string{"sweep", "stage2", "--seeds=0-9", "--out=/o"}, Of: of, Parts: parts, Tries: 3,
	}
}

// TestManifest compares the Jobs of a first round and of a second one, for shards that are not the first.
func TestManifest(t *testing.T) {
	mount := t.TempDir()
	dir := filepath.Join(mount, "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	k := opened(t, settings(mount))
	for name, parts := range map[string][]int{"first": {0, 1, 2, 3}, "second": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			bin := kubectl(t, "case \"$*\" in *get*) echo job.batch/tilescope-0123456789ab-1;; esac\n")
			jobs, err := k.Submit(t.Context(), shards(dir, 4, parts...))
			if err != nil {
				t.Fatal(err)
			}
			want := job.Job{ID: "tilescope-0123456789ab-2"} // the first one's name is taken
			if name == "second" {
				want.Parts = parts
			}
			if len(jobs) != 1 || !reflect.DeepEqual(jobs[0], want) {
				t.Errorf("jobs %+v", jobs)
			}
			words, err := os.ReadFile(filepath.Join(bin, "words"))
			applied := "--namespace=kernels apply -f " + filepath.Join(dir, kubernetes.ManifestFile) + "\n"
			if err != nil || !strings.HasSuffix(string(words), applied) {
				t.Errorf("%v, kubectl %s", err, words)
			}
			b, err := os.ReadFile(filepath.Join(dir, kubernetes.ManifestFile))
			if err != nil {
				t.Fatal(err)
			}
			golden.RequireEqual(t, []byte(strings.ReplaceAll(string(b), mount, "/volume")))
		})
	}
}

// TestListed: the shell of a pod executes the shard that its index stands for.
func TestListed(t *testing.T) {
	mount := t.TempDir()
	bin := kubectl(t, "")
	program := filepath.Join(bin, "tilescope")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	set := settings(mount)
	set.Resources = "cpu=500m"
	k := opened(t, set)
	if _, err := k.Submit(t.Context(), shards(mount, 9, 3, 7)); err != nil {
		t.Fatal(err)
	}
	command := manifest(t, mount).Spec.Template.Spec.Containers[0].Command
	for index, part := range map[string]int{"0": 3, "1": 7} {
		t.Setenv("JOB_COMPLETION_INDEX", index)
		out, err := job.Command(t.Context(), "", command[0], command[1:]...)
		want := fmt.Sprintf("sweep stage2 --seeds=0-9 --out=/o --jobs 1 --shard %d/9\n", part)
		if err != nil || out != want {
			t.Errorf("index %s: %q, %v, want %q", index, out, err, want)
		}
	}
	var many []int
	for i := range 6000 {
		many = append(many, i+1)
	}
	if _, err := k.Submit(t.Context(), shards(mount, 6001, many...)); err != nil {
		t.Fatal(err)
	}
	if n := manifest(t, mount).Spec.Completions; n != 6001 {
		t.Errorf("a Job of %d shards of 6001, too many to list", n)
	}
}

// TestStatus: what kubectl says of a Job while it runs, when it has ended and when it is gone.
func TestStatus(t *testing.T) {
	jobs := []job.Job{{ID: "j", Parts: []int{2, 4, 6, 8, 10, 12}}}
	for _, c := range []struct{ status, count, ended string }{
		{`{"spec": {"completions": 6}, "status": {"active": 2, "ready": 1, "succeeded": 2, "failedIndexes": "3"}}`,
			"{2 1 }", "map[8:its pods failed; Job j]"},
		{`{"spec": {"completions": 6}}`, "{6 0 }", "map[]"},
		{`{"spec": {"completions": 6}, "status": {"succeeded": 6}}`, "{1 0 }", "map[]"},
		{`{"spec": {"completions": 6}, "status": {"succeeded": 3, "failedIndexes": "0-1,5", "conditions": [
{"type": "FailureTarget", "status": "True"},
{"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": "Job has failed indexes"}]}}`,
			"{0 0 }", "map[2:its pods failed; Job j Failed: FailedIndexes Job has failed indexes " +
				"4:its pods failed; Job j Failed: FailedIndexes Job has failed indexes " +
				"12:its pods failed; Job j Failed: FailedIndexes Job has failed indexes]"},
		{"", "{0 0 }", "map[]"},
	} {
		kubectl(t, "cat <<'END'\n"+c.status+"\nEND\n")
		k := opened(t, settings("/v"))
		n, err := k.Count(t.Context(), jobs)
		if got := fmt.Sprint(n); err != nil || got != c.count {
			t.Errorf("%s: %s, %v, want %s", c.status, got, err, c.count)
		}
		if got := fmt.Sprint(k.Ended(t.Context(), jobs)); got != c.ended {
			t.Errorf("%s: ended %s, want %s", c.status, got, c.ended)
		}
	}
	kubectl(t, "echo 'The connection to the server was refused' >&2; exit 1\n")
	if _, err := opened(t, settings("/v")).Count(t.Context(), jobs); err == nil ||
		err.Error() != "kubectl: The connection to the server was refused" {
		t.Error(err)
	}
}

// TestRefused: what the cluster refuses, and settings that cannot be used.
func TestRefused(t *testing.T) {
	mount := t.TempDir()
	var coded *report.Error
	for want, submit := range map[string]func() error{
		"quota exceeded": func() error {
			kubectl(t, "case \"$*\" in *apply*) echo 'jobs.batch is forbidden: quota exceeded' >&2; exit 1;; esac\n")
			_, err := opened(t, settings(mount)).Submit(t.Context(), shards(mount, 1, 0))
			return err
		},
		"has to be below it": func() error {
			_, err := opened(t, settings(mount)).Submit(t.Context(), shards("/elsewhere", 1, 0))
			return err
		},
		"kubernetes.image IMAGE": func() error {
			_, err := kubernetes.New(nil, kubernetes.Settings{})
			return err
		},
		"kubernetes.volume CLAIM:PATH": func() error {
			_, err := kubernetes.New(nil, kubernetes.Settings{Image: "i"})
			return err
		},
	} {
		err := submit()
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	bin := kubectl(t, "")
	if err := opened(t, settings(mount)).Cancel(t.Context(), []job.Job{{ID: "a"}, {ID: "b"}}); err != nil {
		t.Error(err)
	}
	words, _ := os.ReadFile(filepath.Join(bin, "words"))
	want := "--namespace=kernels delete job b --ignore-not-found\n"
	if !strings.HasSuffix(string(words), want) {
		t.Errorf("kubectl %s", words)
	}
}

// parsed is of a Job what tests look at.
type parsed struct {
	Spec struct {
		Completions int
		Template    struct {
			Spec struct{ Containers []struct{ Command []string } }
		}
	}
}

func manifest(t *testing.T, dir string) *parsed {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, kubernetes.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var p parsed
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}
