// Package kubernetes submits the shards of a sweep as an indexed Job of Kubernetes.
//
// The one idea: kubectl does everything, with the user's context and credentials. The sweep's folder lies
// on a volume that pods mount at the path at which this machine has it, so that results are read as they
// come.
//
// It must not know what a run is.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/sweep/job"
)

// Settings are those of the configuration.
type Settings struct {
	Image       string
	Namespace   string // "": that of the kubectl context
	Resources   string // NAME=QUANTITY, comma-separated
	Volume      string // CLAIM:PATH
	Parallelism int
}

// Kubernetes is a job.Scheduler.
type Kubernetes struct {
	files     *file.System
	set       Settings
	claim     string
	mount     string
	resources map[string]string
}

// New returns Kubernetes with the settings of the configuration. Settings that cannot be used are a
// *report.Error with CodeUsage.
func New(files *file.System, set Settings) (*Kubernetes, error) {
	k := &Kubernetes{files: files, set: set}
	if set.Image == "" {
		return nil, report.Usagef("--on kubernetes needs an image: tilescope config set kubernetes.image IMAGE")
	}
	var ok bool
	if k.claim, k.mount, ok = strings.Cut(set.Volume, ":"); !ok {
		return nil, report.Usagef("--on kubernetes needs the volume of the sweep's folder: " +
			"tilescope config set kubernetes.volume CLAIM:PATH")
	}
	k.mount = filepath.Clean(k.mount)
	if set.Resources != "" {
		k.resources = map[string]string{}
		for one := range strings.SplitSeq(set.Resources, ",") {
			name, quantity, ok := strings.Cut(one, "=")
			if !ok {
				return nil, report.Usagef("kubernetes.resources: expected NAME=QUANTITY, found %q", one)
			}
			k.resources[name] = quantity
		}
	}
	return k, nil
}

// Name implements job.Scheduler.
func (k *Kubernetes) Name() string { return "kubernetes" }

// Most implements job.Scheduler. A Job with backoffLimitPerIndex has at most 100,000 indexes
// (kubernetes.io/docs/concepts/workloads/controllers/job).
func (k *Kubernetes) Most() int { return maxIndexes }

const (
	maxIndexes = 100_000
	// maxParallelism is the limit for Jobs of more than 10,000 completions with backoffLimitPerIndex.
	maxParallelism = 10_000
)

// ManifestFile in a sweep's folder is the Job that was applied last.
const ManifestFile = "kubernetes.json"

// Submit implements job.Scheduler. Its Job has an index for each of the parts; the shards of a second
// round, which need not be consecutive, are listed in the pods' command.
func (k *Kubernetes) Submit(ctx context.Context, p *job.Shards) ([]job.Job, error) {
	if !k.within(p.Dir) {
		return nil, report.Usagef("--out %s: pods see %s alone (kubernetes.volume); the folder has to be below it",
			p.Dir, k.mount)
	}
	id, err := k.name(ctx, p)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(k.manifest(id, p), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the Job: %w", err)
	}
	path := filepath.Join(p.Dir, ManifestFile)
	if err := k.files.Write(path, append(b, '\n'), 0o644); err != nil {
		return nil, err
	}
	_, err = k.kubectl(ctx, "apply", "-f", path)
	if failed := (*job.CommandError)(nil); errors.As(err, &failed) {
		return nil, report.Usagef("Kubernetes refused the job: %v", err)
	} else if err != nil {
		return nil, err
	}
	_, _, _, listed := indices(p)
	return []job.Job{{ID: id, Parts: listed}}, nil
}

func (k *Kubernetes) within(dir string) bool {
	rel, err := filepath.Rel(k.mount, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// name is a name that no Job has: a Job's template cannot be changed, so that each submission is a new one.
func (k *Kubernetes) name(ctx context.Context, p *job.Shards) (string, error) {
	base := "tilescope-" + p.Key[:12]
	out, err := k.kubectl(ctx, "get", "jobs", "-l", planLabel+"="+p.Key[:12], "-o", "name")
	if err != nil {
		return "", err
	}
	taken := strings.Fields(out)
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", base, n)
		if !slices.Contains(taken, "job.batch/"+name) {
			return name, nil
		}
	}
}

// kubectl executes kubectl in the namespace of the settings.
func (k *Kubernetes) kubectl(ctx context.Context, args ...string) (string, error) {
	if k.set.Namespace != "" {
		args = append([]string{"--namespace=" + k.set.Namespace}, args...)
	}
	return job.Command(ctx, "", "kubectl", args...)
}

// status is what is read of a Job.
type status struct {
	Spec struct {
		Completions int `json:"completions"`
	} `json:"spec"`
	Status struct {
		Active        int    `json:"active"`
		Ready         int    `json:"ready"`
		Succeeded     int    `json:"succeeded"`
		FailedIndexes string `json:"failedIndexes"`
		Conditions    []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// get reads a Job; nil where there is none.
func (k *Kubernetes) get(ctx context.Context, id string) (*status, error) {
	out, err := k.kubectl(ctx, "get", "job", id, "-o", "json", "--ignore-not-found")
	if err != nil || strings.TrimSpace(out) == "" {
		return nil, err
	}
	var s status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return nil, fmt.Errorf("kubectl get job %s: %w", id, err)
	}
	return &s, nil
}

// ended returns the condition that ends a Job, as "Failed: reason", "" while it has none.
func (s *status) ended() string {
	for _, c := range s.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") {
			return strings.TrimSpace(c.Type + ": " + c.Reason + " " + c.Message)
		}
	}
	return ""
}

// Count implements job.Scheduler.
func (k *Kubernetes) Count(ctx context.Context, jobs []job.Job) (job.Count, error) {
	var n job.Count
	for _, j := range jobs {
		s, err := k.get(ctx, j.ID)
		if err != nil {
			return job.Count{}, err
		}
		if s == nil || s.ended() != "" {
			continue
		}
		failed := len(numbers(s.Status.FailedIndexes))
		n.Running += s.Status.Ready
		// a Job whose last pod has ended has no condition yet: it counts as waiting until it has
		n.Waiting += max(1, s.Spec.Completions-s.Status.Succeeded-failed-s.Status.Ready)
	}
	return n, nil
}

// Ended implements job.Scheduler: a Job says of all its failed indexes together why it failed.
func (k *Kubernetes) Ended(ctx context.Context, jobs []job.Job) map[int]string {
	why := map[int]string{}
	for _, j := range jobs {
		s, err := k.get(ctx, j.ID)
		if err != nil || s == nil {
			continue
		}
		for _, i := range numbers(s.Status.FailedIndexes) {
			if i < len(j.Parts) {
				i = j.Parts[i]
			}
			why[i] = strings.TrimSpace("its pods failed; Job " + j.ID + " " + s.ended())
		}
	}
	return why
}

// Cancel implements job.Scheduler.
func (k *Kubernetes) Cancel(ctx context.Context, jobs []job.Job) error {
	for _, j := range jobs {
		if _, err := k.kubectl(ctx, "delete", "job", j.ID, "--ignore-not-found"); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads a list such as 0-3,7; what is no number is left out.
func numbers(list string) []int {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		lo, err := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || hi-lo >= maxIndexes {
			continue
		}
		for i := lo; i <= hi; i++ {
			out = append(out, i)
		}
	}
	return out
}
