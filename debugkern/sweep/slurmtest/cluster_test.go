//go:build linux

package slurmtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// marker is in the environment of a slurmd and of what it starts, with the folder and name of its node.
const marker = "TILESCOPE_TEST_NODE"

// cluster is a Slurm of the test's own: a controller and nodes of one processor each.
type cluster struct {
	t     *testing.T
	dir   string
	conf  string
	nodes map[string]*exec.Cmd
}

// arraySize is the cluster's MaxArraySize: small, so that a sweep needs several arrays.
const arraySize = 32

// start starts munged, slurmctld and a slurmd for each name.
func start(t *testing.T, names ...string) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tilescope-slurm-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, conf: filepath.Join(dir, "slurm.conf"), nodes: map[string]*exec.Cmd{}}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
			return
		}
		for _, name := range append([]string{"ctld", "munge"}, names...) {
			b, _ := os.ReadFile(filepath.Join(dir, name+".log"))
			t.Logf("%s: %s", name, b[max(0, len(b)-2000):])
		}
	})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, `ClusterName=tilescope
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.sock
CredType=cred/munge
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/%%n
SlurmctldPidFile=%[3]s/ctld.pid
SlurmdPidFile=%[3]s/%%n.pid
SlurmctldLogFile=%[3]s/ctld.log
SlurmdLogFile=%[3]s/%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
SlurmdTimeout=4
KillWait=2
ReturnToService=2
SlurmdParameters=config_overrides
MaxArraySize=%[4]d
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
`, host, port(t), dir, arraySize)
	for _, name := range names {
		fmt.Fprintf(&conf, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1 State=UNKNOWN\n", name,
			host, port(t))
	}
	fmt.Fprintf(&conf, `PartitionName=all Nodes=%s Default=YES MaxTime=INFINITE State=UP
PartitionName=one Nodes=%s MaxTime=INFINITE State=UP
`, strings.Join(names, ","), names[0])
	c.write("slurm.conf", []byte(conf.String()), 0o644)
	key := make([]byte, 128)
	rand.Read(key)
	c.write("munge.key", key, 0o400)
	for _, name := range append([]string{"state"}, names...) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	c.serve(nil, "munged", "--foreground", "--force", "--key-file="+at("munge.key"),
		"--socket="+at("munge.sock"), "--pid-file="+at("munge.pid"), "--log-file="+at("munge.log"),
		"--seed-file="+at("munge.seed"))
	c.until("munged answers", 20*time.Second, func() bool {
		_, err := os.Stat(at("munge.sock"))
		return err == nil
	})
	c.serve(nil, "slurmctld", "-D", "-c")
	for _, name := range names {
		c.boot(name)
	}
	c.until("all nodes are idle", time.Minute, func() bool {
		return strings.Count(c.slurm("sinfo", "-h", "-N", "-p", "all", "-o", "%N %T"), " idle") == len(names)
	})
	return c
}

// port is a free TCP port.
func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *cluster) write(name string, b []byte, mode os.FileMode) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), b, mode); err != nil {
		c.t.Fatal(err)
	}
}

// environment has the cluster's configuration in it.
func (c *cluster) environment(more ...string) []string {
	path := "PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin"
	return append(append(os.Environ(), "SLURM_CONF="+c.conf, path), more...)
}

// serve starts a server that ends with the test.
func (c *cluster) serve(environment []string, name string, args ...string) *exec.Cmd {
	c.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			c.t.Fatalf("no %s on this machine", name)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Env = c.environment(environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// boot starts a node's slurmd.
func (c *cluster) boot(name string) {
	c.t.Helper()
	c.nodes[name] = c.serve([]string{c.mark(name)}, "slurmd", "-D", "-N", name)
	c.t.Cleanup(func() { c.end(name) })
}

func (c *cluster) mark(name string) string { return marker + "=" + c.dir + "/" + name }

// kill ends a node at once, as a power cut does: its slurmd, its step daemons and the processes of its
// jobs. It returns how many processes there were.
func (c *cluster) kill(name string) int {
	c.t.Helper()
	cmd := c.nodes[name]
	cmd.Process.Kill()
	cmd.Wait()
	return 1 + c.end(name)
}

// end kills what a node's slurmd has started: step daemons have the node's mark in their environment, jobs
// the node's name and the cluster's configuration.
func (c *cluster) end(name string) int {
	n := 0
	for range 10 { // a process that is killed may have started another
		found := 0
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range files {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			b, _ := os.ReadFile(path)
			b = append(b, 0)
			has := func(variable string) bool { return bytes.Contains(b, []byte(variable+"\x00")) }
			ours := has(c.mark(name)) || has("SLURMD_NODENAME="+name) && has("SLURM_CONF="+c.conf)
			if err == nil && ours && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found++
			}
		}
		if n += found; found == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return n
}

// slurm executes one of Slurm's commands and returns what it prints; "" where it fails.
func (c *cluster) slurm(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = c.environment()
	out, _ := cmd.Output()
	return string(out)
}

// until waits for a condition.
func (c *cluster) until(what string, limit time.Duration, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("not so after %s: %s", limit, what)
		}
	}
}
