package record

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
)

// multipleSubscribers is CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
const multipleSubscribers = "39"

// launch returns the launch that was recorded, or why there is none. One that failed on the GPU, or that did
// not end while the program lived, is recorded without what it would have left.
func (l *log) launch(req *Request) (*Launch, error) {
	switch {
	case l.begun && len(l.fails) == 0:
		if !l.recorded {
			l.launched.Unfinished = l.failure()
		}
		return l.launched, nil
	case l.begun && len(l.fails) == 1 && strings.HasPrefix(l.fails[0], "launch\t"):
		_, code, _ := strings.Cut(l.fails[0], "\t")
		l.launched.Unfinished = "it failed on the GPU with error " + code + launchErrors[code]
		return l.launched, nil
	}
	what := "a kernel"
	if req.Kernel != "" {
		what = "a kernel that matches " + req.Kernel
	}
	switch {
	case l.launched != nil:
		return nil, failedf("the launch of %s was not recorded: %s", l.launched.Kernel, l.failure())
	case len(l.trouble) > 0:
		return nil, unavailable(l.trouble[0])
	case l.processes == 0:
		return nil, failedf("no launch of %s was recorded: %s ended without initialising CUDA", what,
			req.Argv[0])
	case len(l.fails) > 0:
		return nil, failedf("no launch of %s was recorded: %s", what, l.failure())
	case l.matched > 0:
		return nil, failedf("--nth %d: the program made %d launches of %s, which are counted from 0", req.Nth,
			l.matched, what)
	case len(l.captured) > 0:
		return nil, failedf(
			"no launch of %s was recorded: %s was launched during stream capture, where nothing is executed, and ran as part of a CUDA graph; run the program without CUDA graphs",
			what, strings.Join(l.captured, ", "))
	}
	return nil, failedf("no launch of %s was recorded: the program made none%s", what, l.graphText())
}

func (l *log) graphText() string {
	if l.graphs == 0 {
		return ""
	}
	return fmt.Sprintf("; it launched CUDA graphs %d times, whose kernels are not observed", l.graphs)
}

func failedf(format string, args ...any) error {
	return &report.Error{Code: report.CodeFailed, Err: fmt.Errorf(format, args...)}
}

// launchErrors are the driver's names of what a kernel ends with (CUresult).
var launchErrors = map[string]string{
	"700": " (illegal address)", "702": " (time limit)", "709": " (context destroyed)", "710": " (assert)",
	"714": " (hardware stack)", "715": " (illegal instruction)", "716": " (misaligned address)",
	"717": " (invalid address space)", "718": " (invalid program counter)", "719": " (launch failed)",
}

// failures are what the library was doing as a call failed.
var failures = map[string]string{
	"copy": "copy memory from the GPU", "synchronize": "wait for the GPU before the launch",
	"launch": "the launch itself", "before": "write memory to a file before the launch",
	"after": "write memory to a file after the launch", "image": "write the module's image",
	"parameters": "read the kernel's parameters, which takes a driver of CUDA 12.4 or later",
	"pattern":    "read --kernel as a regular expression",
}

// failure says what failed, or that the program was ended.
func (l *log) failure() string {
	if len(l.fails) == 0 {
		return "the program ended before the kernel did"
	}
	what, code, _ := strings.Cut(l.fails[0], "\t")
	text := failures[what]
	if text == "" {
		text = what
	}
	return fmt.Sprintf("%s: error %s", text, code)
}

// unavailable is what keeps the library from observing launches.
func unavailable(trouble string) error {
	kind, text, _ := strings.Cut(trouble, "\t")
	switch {
	case kind == "subscriber" && text == multipleSubscribers:
		return report.Unavailablef("CUPTI has another subscriber, and takes one: a profiler is active in the program (Kineto of torch.profiler, Nsight Systems); run without it")
	case kind == "subscriber":
		return report.Unavailablef("CUPTI refuses a subscriber: error %s", text)
	case kind == "nodriver":
		return report.Unavailablef("the CUDA driver (libcuda.so.1) lacks functions that record needs: CUDA 12 or later")
	}
	return report.Unavailablef(
		"CUPTI was not found (%s): it comes with the CUDA toolkit, and as pip install nvidia-cuda-cupti", text)
}

// notes list how a recorded launch ended, and launches that were passed over.
func (l *log) notes() []string {
	var out []string
	if l.launched != nil && l.launched.Unfinished != "" {
		out = append(out, fmt.Sprintf("the launch of %s is recorded without its results: %s",
			l.launched.Kernel, l.launched.Unfinished))
	}
	if len(l.captured) > 0 {
		out = append(out, fmt.Sprintf("launches of %s during stream capture were passed over",
			strings.Join(l.captured, ", ")))
	}
	return out
}
