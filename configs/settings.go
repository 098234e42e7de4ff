package configs

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

type settings map[string]any

func merge(layers []layer) settings {
	v := settings{}
	for _, l := range layers {
		for k, x := range l.values {
			v[k] = x
		}
	}
	return v
}

func (v settings) Get(k string) any                 { return v[k] }
func (v settings) GetString(k string) string        { s, _ := v[k].(string); return s }
func (v settings) GetBool(k string) bool            { s, _ := v[k].(bool); return s }
func (v settings) GetInt(k string) int              { s, _ := v[k].(int64); return int(s) }
func (v settings) GetUint64(k string) uint64        { s, _ := v[k].(int64); return uint64(s) }
func (v settings) GetStringSlice(k string) []string { s, _ := v[k].([]string); return s }
func (v settings) GetDuration(k string) time.Duration {
	s, _ := v[k].(string)
	d, _ := time.ParseDuration(s)
	return d
}

// typed reads the merged values, each checked by its layer.
func typed(v settings, o LoadOptions) *Config {
	c := &Config{
		Target: v.GetString("target"), Shape: v.GetString("shape"), Seed: v.GetUint64("seed"), Flags: map[string]string{},
		Faults: v.GetStringSlice("faults"), Gate: v.GetString("gate"), Backend: v.GetString("backend"), Builder: v.GetString("builder"),
		Arch: v.GetString("arch"), Device: v.GetInt("device"), Timeout: v.GetDuration("timeout"), Schedule: v.GetString("schedule"),
		Repeat: v.GetInt("repeat"), Toolchain: v.GetString("toolchain"), CacheDir: v.GetString("cache"), Palette: v.GetString("palette"),
		Mouse: v.GetBool("mouse"),
	}
	c.CaptureMax, _ = bytesOf(v.GetString("capture.max"))
	for _, f := range v.GetStringSlice("flags") {
		name, value, _ := strings.Cut(f, "=")
		c.Flags[name] = value
	}
	if c.CacheDir == "" {
		c.CacheDir = o.CacheDir
	}
	if c.CacheDir == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			c.CacheDir = filepath.Join(dir, "tilescope")
		} else {
			c.CacheDir = filepath.Join(os.TempDir(), "tilescope-cache")
		}
	}
	return c
}
