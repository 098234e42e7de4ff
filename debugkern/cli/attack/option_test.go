//go:build unix

package attack

import (
	"fmt"
	"strings"
)

// badValues are values that an option must refuse, whichever command takes it.
var badValues = map[string][]string{
	"--seed": {"x", "-1", "1.5", "18446744073709551616", "", "0x", "1e3", "\x1b[31m"},
	"--shape": {"nosuch", "1,1,32", "1,1,32,64,1", "0,1,32,64", "-1,1,32,64", "a,b,c,d", ",,,",
		"1,1,1.5,64", "1;1;32;64", "99999999999999999999,1,1,1", "\x1b[31m", "1,1,32,63"},
	"--set":      {"NOSUCH", "=1", "NOSUCH=1", "", "USE_CP_ASYNC=x", "\x1b]0;x\a=1"},
	"--fault":    {"nosuch", "", "\x1b[31m", "-x"},
	"--gate":     {"nosuch", "", "QK ", "\x1b[31m"},
	"--inject":   {"nosuch", "uniform"},
	"--backend":  {"nosuch", "EMU", "\x1b[31m"},
	"--builder":  {"nosuch", "\x1b[31m"},
	"--timeout":  {"x", "-5s", "5", "1y", "\x1b[31m", "99999999999h"},
	"--device":   {"x", "-1", "1.5", "99999999999999999999", ""},
	"--repeat":   {"x", "-1", "0", "1.5", ""},
	"--schedule": {"nosuch", "in-order:x", "random:-1", "random:1:nosuch", ":", "\x1b[31m"},
	"--blocks":   {"x", "-1", "0,0,0,0", "99,0,0", "3-1,0,0", "\x1b[31m"},
	"--tiles":    {"x", "-1", "3-1", "999-1000", "\x1b[31m"},
	"--stages":   {"nosuch", ",", "\x1b[31m"},
	"--resident": {"x", "-1", "1.5"},
	"--std":      {"nosuch"},
}

var commands = map[string][]string{
	"run": {"run", "stage2"}, "diagnose": {"diagnose", "stage2"}, "gates": {"gates", "stage2"},
	"bisect": {"bisect", "stage1", "stage2"}, "compare": {"compare", "stage1", "stage2"},
	"terminal": {"stage2"},
}

// optionCases give every command each option with each value that is wrong, and command lines that are none.
func optionCases() (all []attack) {
	for name, command := range commands {
		for option, values := range badValues {
			for i, v := range values {
				if option == "--inject" && v == "uniform" && name == "gates" {
					continue // gates chooses its own gates
				}
				args := append(append([]string{}, command...), option+"="+v)
				if option != "--shape" && name != "gates" {
					args = append(args, "--shape=small")
				}
				all = append(all, attack{
					name: fmt.Sprintf("%s %s %d", name, option, i), args: args, codes: []int{2}, within: 5e9,
				})
			}
		}
	}
	for i, args := range [][]string{
		{"run"}, {"run", ""}, {"run", "a", "b"}, {"run", "nosuch"}, {"run", "\x1b]0;x\a"},
		{"run", "stage2", "--nosuch"}, {"run", "stage2", "--seed"}, {"run", "--", "--help"}, {"nosuch"},
		{"rum", "stage2"}, {"diagnose"}, {"gates"}, {"bisect"}, {"bisect", "stage2"}, {"compare", "stage2"},
		{"compare", "a", "b", "c"}, {"init"}, {"init", "a.txt"}, {"lut", "a", "b"}, {"kernels", "x"},
		{"doctor", "x"}, {"config", "get"}, {"config", "get", "nosuch"}, {"config", "set", "seed"},
		{"config", "set", "seed", "x"}, {"config", "set", "nosuch", "1"}, {"config", "nosuch"},
		{"version", "x"}, {"--json"}, {"run", strings.Repeat("x", 100_000)},
		{"run", "stage2", "--set", strings.Repeat("X", 100_000)}, {"\xff\xfe"},
		{"run", "stage2", "--gate", "qk", "--set", "DEBUG_PV_ONLY"},
		{"run", "flashcore_vec", "--fault", "sync-s"}, {"gates", "stage2", "--seeds", "x"},
		{"gates", "stage2", "--seeds", "5-1"}, {"gates", "stage2", "--seeds", "0-99999999999"},
		{"gates", "stage2", "--shapes", "nosuch"}, {"gates", "stage2", "--against", "nosuch"},
		{"gates", "stage2", "--warmups", "-1"}, {"gates", "stage2", "--launches", "-1"},
		{"gates", "stage2", "--launches", "0"}, {"gates", "stage2", "--arch", "nosuch"},
		{"diagnose", "stage2", "--schedules", "-1"}, {"diagnose", "stage2", "--schedules", "x"},
		{"diagnose", "stage2", "--perturb=-1"}, {"bisect", "stage1", "stage2", "--until", "nosuch"},
		{"bisect", "stage1", "flashcore_vec"},
	} {
		all = append(all, attack{name: fmt.Sprintf("line %d", i), args: args, codes: []int{2}})
	}
	for _, c := range []string{"cuda", "both"} {
		for _, name := range []string{"run", "diagnose", "compare"} {
			args := append(append([]string{}, commands[name]...), "--shape=small", "--backend", c, "--device")
			all = append(all, attack{
				name: name + " on a GPU that is not there: " + c,
				args: append(args[:len(args):len(args)], "255"), codes: []int{3}, says: "backend " + c,
			})
			all = append(all, attack{
				name: name + " on a GPU that cannot be: " + c,
				args: append(args[:len(args):len(args)], "4096"), codes: []int{2}, says: "--device 4096",
			})
		}
	}
	return all
}
