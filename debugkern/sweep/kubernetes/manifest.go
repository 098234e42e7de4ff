package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/sweep/job"
)

// planLabel has the beginning of the plan's digest, so that a sweep's Jobs are found.
const planLabel = "tilescope/plan"

// Of a Job, what tilescope sets: batch/v1
// (kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1).
type (
	object struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       jobSpec  `json:"spec"`
	}
	metadata struct {
		Name   string            `json:"name,omitempty"`
		Labels map[string]string `json:"labels"`
	}
	jobSpec struct {
		CompletionMode       string        `json:"completionMode"`
		Completions          int           `json:"completions"`
		Parallelism          int           `json:"parallelism"`
		BackoffLimitPerIndex int           `json:"backoffLimitPerIndex"`
		PodFailurePolicy     failurePolicy `json:"podFailurePolicy"`
		Template             podTemplate   `json:"template"`
	}
	failurePolicy struct {
		Rules []failureRule `json:"rules"`
	}
	failureRule struct {
		Action          string         `json:"action"`
		OnExitCodes     *exitCodes     `json:"onExitCodes,omitempty"`
		OnPodConditions []podCondition `json:"onPodConditions,omitempty"`
	}
	exitCodes struct {
		Operator string `json:"operator"`
		Values   []int  `json:"values"`
	}
	podCondition struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	}
	podTemplate struct {
		Metadata metadata `json:"metadata"`
		Spec     podSpec  `json:"spec"`
	}
	podSpec struct {
		RestartPolicy string      `json:"restartPolicy"`
		Containers    []container `json:"containers"`
		Volumes       []volume    `json:"volumes"`
	}
	container struct {
		Name         string     `json:"name"`
		Image        string     `json:"image"`
		Command      []string   `json:"command"`
		WorkingDir   string     `json:"workingDir"`
		Resources    *resources `json:"resources,omitempty"`
		VolumeMounts []mount    `json:"volumeMounts"`
	}
	resources struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	}
	mount struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	}
	volume struct {
		Name  string `json:"name"`
		Claim claim  `json:"persistentVolumeClaim"`
	}
	claim struct {
		ClaimName string `json:"claimName"`
	}
)

// mostListed is how many shards a pod's command lists. A sweep with more of them open that are not the
// first ones gets a Job of all shards, of which those that are done end at once.
const mostListed = 5000

// indices returns how many indexes a Job of parts has, the shard of an index as a shell expression, what
// the shell executes before, and the shards by index where they are listed.
func indices(p *job.Shards) (n int, index, before string, listed []int) {
	const own = "$JOB_COMPLETION_INDEX"
	consecutive := len(p.Parts) > 0 && p.Parts[len(p.Parts)-1] == len(p.Parts)-1
	switch {
	case consecutive:
		return len(p.Parts), own, "", nil
	case len(p.Parts) > mostListed:
		return p.Of, own, "", nil
	}
	words := make([]string, len(p.Parts))
	for i, part := range p.Parts {
		words[i] = strconv.Itoa(part)
	}
	return len(p.Parts), "$1", fmt.Sprintf("set -- %s\nshift \"%s\"\n", strings.Join(words, " "), own),
		slices.Clone(p.Parts)
}

// manifest is the Job of shards. A pod that fails is replaced, Tries times an index in all; one that a node
// takes with it (an eviction, a drained node) does not count; bad input and a missing backend (exit codes 2
// and 3) fail the index at once.
func (k *Kubernetes) manifest(id string, p *job.Shards) *object {
	n, index, before, _ := indices(p)
	once := *p
	once.Tries = 1
	labels := map[string]string{"app.kubernetes.io/name": "tilescope", planLabel: p.Key[:12]}
	c := container{
		Name: "shard", Image: k.set.Image, WorkingDir: k.mount,
		Command:      []string{"/bin/sh", "-c", before + once.Script("tilescope", index, k.processors())},
		VolumeMounts: []mount{{Name: "sweep", MountPath: k.mount}},
	}
	if k.within(p.Work) {
		c.WorkingDir = p.Work
	}
	if k.resources != nil {
		c.Resources = &resources{Requests: k.resources, Limits: k.resources}
	}
	return &object{
		APIVersion: "batch/v1", Kind: "Job", Metadata: metadata{Name: id, Labels: labels},
		Spec: jobSpec{
			CompletionMode: "Indexed", Completions: n, Parallelism: min(k.set.Parallelism, n, maxParallelism),
			BackoffLimitPerIndex: p.Tries - 1,
			PodFailurePolicy: failurePolicy{[]failureRule{
				{Action: "Ignore", OnPodConditions: []podCondition{{"DisruptionTarget", "True"}}},
				{Action: "FailIndex", OnExitCodes: &exitCodes{"In", []int{2, 3}}},
			}},
			Template: podTemplate{metadata{Labels: labels}, podSpec{
				RestartPolicy: "Never", Containers: []container{c},
				Volumes: []volume{{"sweep", claim{k.claim}}},
			}},
		},
	}
}

// processors is how many runs a pod makes at a time, as a shell expression: the whole processors that it
// requests, else those of its node.
func (k *Kubernetes) processors() string {
	text, ok := k.resources["cpu"]
	if !ok {
		return "$(nproc)"
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil { // 500m
		return "1"
	}
	return fmt.Sprint(max(1, int(n)))
}
