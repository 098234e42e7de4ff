package configs

import (
	_ "embed"
	"fmt"
	"time"

	"tilescope/debugkern/file"
)

//go:embed default.yaml
var defaultText []byte

// Config is tilescope's configuration, every value checked. Its keys are documented in default.yaml.
type Config struct {
	Target   string // "": where the terminal was left, else stage2
	Shape    string // a shape's name or B,H,S,D: which names exist is the manifest's to say
	Seed     uint64
	Flags    map[string]string // set on top of the target's
	Faults   []string
	Gate     string // none, qk, softmax, pv
	Backend  string // auto, emu, cuda, both
	Builder  string // auto, embedded, nvrtc, nvcc
	Arch     string // "sm_80"; "" is the builder's choice
	Device   int
	Timeout  time.Duration
	Schedule string // POLICY:SEED
	Repeat   int

	CaptureMax int64  // bytes
	MemoryMax  int64  // bytes; 0: half of what the machine has
	Toolchain  string // directory; "" for the usual places
	// GateFrom: where Gate comes from, as KeyDoc says it: which gates there are is the kernel's to say
	GateFrom string
	// ToolchainOfProject: a file of the working directory names Toolchain, or it is a relative path, which
	// is another place in each working directory.
	ToolchainOfProject bool
	// Host is another machine that executes, and how it is reached: HostCopy is ask, yes or no; HostBinary
	// a tilescope for it, "" for this program; HostSSH the ssh with its options.
	HostName, HostCopy, HostBinary, HostSSH string

	// SweepChunk is how many runs a shard has that a cluster executes, SweepTries how often it is
	// submitted.
	SweepChunk, SweepTries int
	// SlurmTemplate is the file of the batch script, "" for the built-in one; SlurmOptions are options of
	// sbatch, separated by blanks; SlurmGres is what shards on a GPU request.
	SlurmTemplate, SlurmOptions, SlurmGres string
	// KubernetesResources are NAME=QUANTITY, comma-separated; KubernetesVolume is CLAIM:PATH.
	KubernetesImage, KubernetesNamespace, KubernetesResources, KubernetesVolume string
	KubernetesParallelism                                                       int

	CacheDir string // "" where none is set and the user has no home directory
	CacheMax int64  // bytes; 0: nothing is kept
	// CacheKey: the file with the secret of the cache's checksums; "" where there is no place for it
	CacheKey string
	// TrustFile: the file with the user's consents to toolchains; "" where there is no place for it
	TrustFile string
	Theme     string // auto, dark, light, high-contrast, ...: themes of package theme
	Colours   string // auto, 16, 256, truecolor
	Palette   string // cividis, viridis, grey
	Mouse     bool
	Keys      []KeySetting
}

// LoadOptions say where configuration comes from. The zero value is the process's own surroundings.
type LoadOptions struct {
	Dir      string            // directory of ./tilescope.yaml; "": the working directory
	UserDir  string            // directory of the user's config.yaml; "": os.UserConfigDir()/tilescope
	CacheDir string            // where Config.CacheDir points by default; "": os.UserCacheDir()/tilescope
	Env      []string          // NAME=VALUE; nil: os.Environ()
	Flags    map[string]string // command line options by key, highest precedence
	Files    *file.System      // how the user's file is written; nil: the real file system
	// CheckKeys returns the mistakes in settings of keys; nil: they are not checked
	CheckKeys func([]KeySetting) []*Error
}

// Sources says which value came from where.
type Sources struct {
	Files []string // configuration files read, highest precedence first
	keys  []KeyDoc
}

// KeyDoc is one key, its value as it would be written, and where that value comes from: "default", a file,
// a variable's name or "option".
type KeyDoc struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
	// Remembered is what the terminal was last set to by hand, in the place of Value; "" where it is not
	Remembered string `json:"remembered,omitempty"`
}

// ConfigDoc is what `tilescope config --json` prints.
type ConfigDoc struct {
	Schema string   `json:"schema"` // tilescope.config/1
	Files  []string `json:"files"`
	Keys   []KeyDoc `json:"keys"`
}

// Doc lists every key in the order of default.yaml.
func (s *Sources) Doc() ConfigDoc {
	return ConfigDoc{
		Schema: "tilescope.config/1", Files: append([]string{}, s.Files...),
		Keys: append([]KeyDoc{}, s.keys...),
	}
}

// Remember enters what the terminal remembers in the place of settings: see Remembered.
func (d *ConfigDoc) Remember(display map[string]string) {
	for i := range d.Keys {
		k := &d.Keys[i]
		if v := display[k.Key]; (k.Key == "theme" || k.Key == "palette") && v != fmt.Sprint(k.Value) {
			k.Remembered = v
		}
	}
}

// From says where a key's value comes from; "" for an unknown key.
func (s *Sources) From(key string) string {
	for _, k := range s.keys {
		if k.Key == key {
			return k.From
		}
	}
	return ""
}
