package configs

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/viper"
)

// merge lays the layers over one another, lowest precedence first. They are laid over each other key by key
// in one viper rather than read by viper's own sources, because a mistake has to be blamed on a file and
// line, which viper forgets.
func merge(layers []layer) *viper.Viper {
	v := viper.New()
	for _, l := range layers {
		for k, x := range l.values {
			v.Set(k, x)
		}
	}
	return v
}

// typed reads the merged values, each checked by its layer.
func typed(v *viper.Viper, o LoadOptions) *Config {
	c := &Config{
		Target: v.GetString("target"), Shape: v.GetString("shape"), Seed: v.GetUint64("seed"),
		Flags: map[string]string{}, Faults: v.GetStringSlice("faults"), Gate: v.GetString("gate"),
		Backend: v.GetString("backend"), Builder: v.GetString("builder"), Arch: v.GetString("arch"),
		Device: v.GetInt("device"), Timeout: v.GetDuration("timeout"), Schedule: v.GetString("schedule"),
		Repeat: v.GetInt("repeat"), Toolchain: v.GetString("toolchain"), CacheDir: v.GetString("cache.dir"),
		HostName: v.GetString("host.name"), HostCopy: v.GetString("host.copy"),
		HostBinary: v.GetString("host.binary"), HostSSH: v.GetString("host.ssh"),
		SweepChunk: v.GetInt("sweep.chunk"), SweepTries: v.GetInt("sweep.tries"),
		SlurmTemplate: v.GetString("slurm.template"), SlurmOptions: v.GetString("slurm.options"),
		SlurmGres:             v.GetString("slurm.gres"),
		KubernetesImage:       v.GetString("kubernetes.image"),
		KubernetesNamespace:   v.GetString("kubernetes.namespace"),
		KubernetesResources:   v.GetString("kubernetes.resources"),
		KubernetesVolume:      v.GetString("kubernetes.volume"),
		KubernetesParallelism: v.GetInt("kubernetes.parallelism"),

		Theme: v.GetString("theme"), Colours: v.GetString("colours"), Palette: v.GetString("palette"),
		Mouse: v.GetBool("mouse"),
	}
	c.CaptureMax, _ = bytesOf(v.GetString("capture.max"))
	if text := v.GetString("memory.max"); text != "auto" {
		c.MemoryMax, _ = bytesOf(text)
	}
	c.CacheMax, _ = bytesOf(v.GetString("cache.max"))
	for _, f := range v.GetStringSlice("flags") {
		name, value, _ := strings.Cut(f, "=")
		c.Flags[name] = value
	}
	if c.CacheDir == "" {
		c.CacheDir = o.CacheDir
	}
	if c.CacheDir == "" {
		// else no cache: a place that others share is no substitute
		if dir, err := os.UserCacheDir(); err == nil {
			c.CacheDir = filepath.Join(dir, "tilescope")
		}
	}
	if dir, err := userDir(o); err == nil {
		c.CacheKey, c.TrustFile = filepath.Join(dir, "cache.key"), filepath.Join(dir, "trust.json")
	}
	return c
}
