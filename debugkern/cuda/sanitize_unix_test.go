//go:build unix

package cuda

import "testing"

func TestSanitize(t *testing.T) {
	here := scriptedSanitizer(t, behindTheEnd)
	there := here
	t.Setenv(toolsOf, here.Tools.Path)
	linked, _ := linkedConfig(t, "exec WORKER")
	there.Worker, there.Tools, there.Command = linked.Worker, Config{}, nil
	for name, cfg := range map[string]SanitizerConfig{"here": here, "there": there} {
		t.Setenv("FAKECUDA", "cuLaunchKernel@2=abort") // a second launch would end the process
		got, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "overrun", ""), "overrun", floats(12))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Tool != "memcheck" || got.Version != "2025.3.1.0" || got.Summary == "" ||
			len(got.Complaints) != 1 {
			t.Fatalf("%s: %+v", name, got)
		}
		if c := got.Complaints[0]; c.Argument != "out" || c.Distance != 12 || c.At.Line != 7 {
			t.Errorf("%s: %+v", name, c)
		}
		t.Setenv("FAKECUDA", "cuLaunchKernel@1=1")
		if _, err := Sanitize(t.Context(), cfg, "memcheck", module(t, "copy", ""), "copy",
			floats(12)); err == nil {
			t.Errorf("%s: a launch that failed, and no report, is no result", name)
		}
	}
}
