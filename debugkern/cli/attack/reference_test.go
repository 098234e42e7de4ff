//go:build unix

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// zeroOutput is an array of O for shape small: a reference that can be read, and that no attention agrees
// with.
var zeroOutput = array("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 32, 64), }",
	make([]byte, 4*32*64))

// compared is a kernel's manifest, its O compared with a reference.
func (g *good) compared(reference string, files map[string]string) map[string]string {
	const output = "role: output, tensor: O}"
	text := strings.Replace(g.manifest, output, "role: output, tensor: O, reference: "+reference+"}", 1)
	if text == g.manifest {
		panic("BUG: the manifest has no " + output)
	}
	all := g.kernel(text, g.ptx)
	for name, content := range files {
		all[name] = content
	}
	return all
}

// referenceCases are references that are not what they should be: archives, commands that do what they should
// not, other kernels.
func referenceCases(g *good) (all []attack) {
	run := []string{"run", "k.yaml", "--shape", "small"}
	npz := func(name string, content []byte, code int, says string) {
		all = append(all, attack{name: name, args: run, files: g.compared("{npz: r.npz}",
			map[string]string{"r.npz": string(content)}), codes: []int{code}, says: says})
	}
	npz("of zeros", archive(member{name: "O.npy", data: zeroOutput}), 1, "diverges")
	for name, npy := range badArrays(zeroOutput) {
		npz("O "+name, archive(member{name: "O.npy", data: npy}), 2, "k.yaml:20: args[3].reference: r.npz")
	}
	for name, lie := range lies {
		npz("O "+name, archive(member{name: "O.npy", data: zeroOutput, lies: lie}), 2, "r.npz")
	}
	npz("a bomb", archive(member{name: "O.npy", data: make([]byte, 64<<20), pack: true}), 2, "r.npz")
	npz("blocks outside", archive(member{name: "tile_O.npy", data: zeroOutput}, member{name: "blocks.npy",
		data: array("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3), }",
			[]byte(strings.Repeat("\xff", 24)))}), 2, "blocks")
	npz("an escape for a name", archive(member{name: "\x1b]0;x\a.npy", data: zeroOutput}), 2, "r.npz")
	return append(append(all, commandCases(g, run)...), kernelCases(g, run)...)
}

// commandCases are commands as references. Each is trusted by --trust, but for the first.
func commandCases(g *good, run []string) (all []attack) {
	command := func(name, script string, code int, says string) *attack {
		all = append(all, attack{name: name, args: append(append([]string{}, run...), "--trust"),
			codes: []int{code}, says: says,
			files: g.compared(`{command: [sh, r.sh], timeout: 5s}`,
				map[string]string{"r.sh": script, "r.npz": string(archive(member{name: "O.npy",
					data: zeroOutput}))})})
		return &all[len(all)-1]
	}
	command("a command that is not trusted", ": > mark", 3, "is not executed").args = run
	command("a command that is right", "cp r.npz $2", 1, "diverges")
	secret := command("a command that looks for secrets", "env | grep -c SECRET >&2; cp r.npz $2", 1,
		"reference: 0")
	secret.env = []string{"API_SECRET=hunter2"}
	command("control characters", `printf '\033]0;x\007\342\200\256' >&2; exit 1`, 4, "exit status 1")
	command("a flood", "yes | head -c 20000000; exit 7", 4, "exit status 7|not shown")
	command("a line without end", "head -c 5000000 /dev/zero | tr '\\0' x; exit 7", 4, "exit status 7")
	command("its input removed", "rm $1; exit 1", 4, "exit status 1")
	command("its folder removed", `rm -r "$(dirname $1)"; exit 0`, 4, "wrote no archive")
	command("its parent's death wished", "kill -TERM $$", 4, "signal: terminated")
	command("a child left behind", "sleep 1000 & cp r.npz $2", 1, "diverges")
	command("a child that ignores signals", `trap "" TERM INT HUP; sleep 1000 & wait`, 4,
		"time limit of 5s").within = 15 * time.Second
	command("an archive that is a device", "ln -s /dev/zero $2", 4, "symbolic link")
	command("an archive that is a pipe", "mkfifo $2", 4, "FIFO")
	command("an archive of 3 GB of holes",
		"truncate -s 3G $2 2>/dev/null || dd if=/dev/null of=$2 bs=1 seek=3000000000 2>/dev/null; exit 0", 4,
		"sh r.sh").env = []string{"TILESCOPE_MEMORY_MAX=1GiB"}
	command("archive within archive", "cp r.npz $2; cat r.npz >> $2", 4, "the archive that it wrote")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		a := command(fmt.Sprintf("ended by %v", sig), "echo $$ > pid; sleep 1000 & wait", 130, "cancelled")
		a.makes, a.signal, a.within = []string{"pid"}, sig, 20*time.Second
		a.drive = func(b *box, p *os.Process) {
			for end := time.Now().Add(10 * time.Second); time.Now().
				Before(end); time.Sleep(5 * time.Millisecond) {
				if text, err := os.ReadFile(filepath.Join(b.work, "pid")); err == nil &&
					strings.HasSuffix(string(text), "\n") {
					break
				}
			}
			_ = p.Signal(sig)
		}
		a.after = func(b *box, _ outcome) error {
			pid := 0
			text, err := os.ReadFile(filepath.Join(b.work, "pid"))
			if err != nil {
				return err
			}
			fmt.Sscan(string(text), &pid)
			for end := time.Now().Add(5 * time.Second); time.Now().
				Before(end); time.Sleep(5 * time.Millisecond) {
				if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); syscall.Kill(pid,
					0) != nil || err == nil && strings.Contains(string(state), ") Z ") {
					return nil
				}
			}
			return fmt.Errorf("process %d, the command, goes on", pid)
		}
	}
	return all
}

// kernelCases are other kernels as references.
func kernelCases(g *good, run []string) (all []attack) {
	kernel := func(name, text string, code int, says string) {
		all = append(all, attack{name: name, args: run, codes: []int{code}, says: says,
			files: g.compared("{kernel: r.yaml}", map[string]string{"r.yaml": text,
				"bad.ptx": ".version 8.0\n\x1b]0;x\a\n"})})
	}
	kernel("another kernel", g.manifest, 0, "agree")
	kernel("a kernel that leads back", strings.Replace(g.manifest, "role: output, tensor: O}",
		"role: output, tensor: O, reference: {kernel: k.yaml}}", 1), 2, "k.yaml → r.yaml → k.yaml")
	kernel("a kernel that is no manifest", "\x1b]0;x\a", 2, "r.yaml")
	kernel("a kernel with PTX of escapes", strings.Replace(g.manifest, "ptx: k.ptx", "ptx: bad.ptx", 1), 4,
		"bad.ptx")
	kernel("a kernel with PTX that is a device", strings.Replace(g.manifest, "ptx: k.ptx", "ptx: /dev/zero",
		1), 2, "zero")
	kernel("a kernel of no shape", strings.Replace(g.manifest, "that: D == HEAD_DIM", "that: D == 63", 1), 2,
		"r.yaml")
	return all
}
