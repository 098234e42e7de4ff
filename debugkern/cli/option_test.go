package cli

import (
	"strings"
	"testing"
)

// TestOptionsAreChecked: numbers that mean nothing are refused by every command that takes them,
// with the option's name.
func TestOptionsAreChecked(t *testing.T) {
	commands := map[string][]string{
		"run": {"run", "stage2"}, "diagnose": {"diagnose", "stage2"}, "gates": {"gates", "stage2"},
		"compare": {"compare", "stage1", "stage2"}, "bisect": {"bisect", "stage1", "stage2"},
		"terminal": {"stage2"},
	}
	options := [][2]string{
		{"timeout", "-5s"}, {"timeout", "0"}, {"timeout", "0s"}, {"timeout", "5"}, {"timeout", "soon"},
		{"timeout", "99999999h"}, {"timeout", "NaN"}, {"device", "-1"}, {"device", "256"},
		{"device", "first"}, {"device", "99999999999999999999"}, {"repeat", "-1"}, {"repeat", "0"},
		{"repeat", "100001"}, {"repeat", "1.5"}, {"seed", "-1"}, {"seed", "text"},
		{"seed", "18446744073709551616"}, {"resident", "x"},
	}
	for name, command := range commands {
		for _, o := range options {
			for _, args := range [][]string{{"--" + o[0] + "=" + o[1]}, {"--" + o[0], o[1]}} {
				stdout, stderr, code := call(t, append(append([]string{}, command...), args...)...)
				if code != exitUsage || stdout != "" ||
					!strings.Contains(stderr, "--"+o[0]+" "+o[1]+": expected a ") {
					t.Errorf("%s %v: exit %d, %q, %q", name, args, code, stdout, stderr)
				}
			}
		}
	}
	for _, args := range [][]string{
		{"gates", "stage2", "--warmups", "-1"}, {"gates", "stage2", "--launches", "-1"},
		{"gates", "stage2", "--launches", "1"}, {"gates", "stage2", "--seeds", "-1"},
		{"gates", "stage2", "--seeds", "0-99999999"}, {"diagnose", "stage2", "--schedules", "-1"},
		{"diagnose", "stage2", "--schedules", "0"}, {"diagnose", "stage2", "--perturb=-1"},
		{"run", "stage2", "--resident", "-1"}, {"run", "stage2", "--shape", "1,1,-1,64"},
		{"run", "stage2", "--schedule", "random:-1"},
	} {
		if stdout, stderr, code := call(t, args...); code != exitUsage || stdout != "" ||
			!strings.Contains(stderr, args[2][:5]) && !strings.Contains(stderr, args[len(args)-1]) {
			t.Errorf("%v: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}
