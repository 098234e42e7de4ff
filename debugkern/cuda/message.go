package cuda

import (
	"encoding/json"
	"time"

	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
)

// hello is the worker's first word.
type hello struct {
	Protocol int    `json:"protocol"`
	PID      int    `json:"pid"`
	Version  string `json:"version,omitempty"` // of the program
	System   string `json:"system,omitempty"`  // "linux/amd64"
}

// request is one of the worker's operations; the member of that name is set.
type request struct {
	Buffers []int64        `json:"buffers,omitempty"` // bytes of each buffer that follows
	Devices *devicesOp     `json:"devices,omitempty"`
	Open    *openOp        `json:"open,omitempty"`
	Load    *loadOp        `json:"load,omitempty"`
	Launch  *launchOp      `json:"launch,omitempty"`
	Time    *timeOp        `json:"time,omitempty"`
	Memory  *memoryRequest `json:"memory,omitempty"`
	Compile *compileOp     `json:"compile,omitempty"`
	Emulate *emulateOp     `json:"emulate,omitempty"`
	Sample  *sampleOp      `json:"sample,omitempty"`

	Sanitize *sanitizeOp `json:"sanitize,omitempty"`
}

// sanitizeOp runs a tool of compute-sanitizer on one launch, in a process of its own, which executes the
// three requests: open, load with the request's first buffer, and launch with the others. The answer streams
// a Sanitized, as JSON, as stream 0. No device has to be open.
type sanitizeOp struct {
	Tool   string        `json:"tool"`
	Limit  time.Duration `json:"limit"`
	Open   openOp        `json:"open_device"`
	Load   loadOp        `json:"load_module"`
	Launch launchOp      `json:"launch_once"`
}

// sampleOp asks for the telemetry of the device with that PCI address.
type sampleOp struct {
	Device Device `json:"device"`
}

// emulateOp executes a launch with the worker's emulator. The buffers of the launch's arguments follow as the
// encoding numbers them; the answer streams what the launch left as stream 0.
type emulateOp struct {
	Kernel int             `json:"kernel"`
	Launch json.RawMessage `json:"launch"`
}

// devicesOp asks which devices there are.
type devicesOp struct {
	Library string `json:"library,omitempty"`
}

// openOp makes the worker use one device. Everything below needs it first. Memory is how many bytes the
// buffers of requests may take together from then on; 0: what the worker was started with.
type openOp struct {
	Library string `json:"library,omitempty"`
	Device  int    `json:"device"`
	Memory  int64  `json:"memory,omitempty"`
	Emulate bool   `json:"emulate,omitempty"` // with the worker's emulator, and no device
}

// loadOp has the driver compile and load the PTX that follows as buffer 0; of a file for a tool, with the
// module's debug lines.
type loadOp struct {
	Entry string `json:"entry"`
	Name  string `json:"name,omitempty"` // of the module, for the emulator's errors and findings
}

// memoryRequest asks how much device memory is free.
type memoryRequest struct{}

// compileOp has a compiler's process open a library, or, with a program as buffer 0, compile it from
// directory Dir. Memory, with a library, is how many bytes the process may allocate from then on; 0: what
// it was started with.
type compileOp struct {
	Library string `json:"library,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Memory  int64  `json:"memory,omitempty"`
}

// memory is the limit that a request sets for those after it, 0 for none.
func (r *request) memory() int64 {
	switch {
	case r.Open != nil:
		return r.Open.Memory
	case r.Compile != nil:
		return r.Compile.Memory
	case r.Sanitize != nil:
		return r.Sanitize.Open.Memory
	}
	return 0
}

// compiledResult is the version of the library.
type compiledResult struct {
	Major int32 `json:"major"`
	Minor int32 `json:"minor"`
}

// launchSpec is one kernel and what it is launched with. Buffers of the request are named by
// number, -1 for none.
type launchSpec struct {
	Kernel    int    `json:"kernel"`
	Dims      [6]int `json:"dims"` // grid x, y, z, block x, y, z
	DynShared int    `json:"dyn_shared"`
	// Cooperative launches let all blocks wait for each other.
	Cooperative bool `json:"cooperative,omitempty"`
	// Cluster is the launch's attribute of a cluster's blocks; zero: none. BigCluster allows clusters of a
	// size that is not portable.
	Cluster    [3]int     `json:"cluster,omitzero"`
	BigCluster bool       `json:"big_cluster,omitempty"`
	Args       []argSpec  `json:"args"`
	Probe      *probeSpec `json:"probe,omitempty"`
}

// argSpec is a scalar's bytes, or a device buffer between guard bands.
type argSpec struct {
	Name   string `json:"name"`
	Scalar []byte `json:"scalar,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Init   int    `json:"init"` // the request's buffer that it starts as; -1: bytes 0xFF
	Elem   int    `json:"elem,omitempty"`
	Output bool   `json:"output,omitempty"`
	// Into are the places in other arguments' scalars that get the buffer's address; with any, it is no
	// parameter of its own.
	Into []target.Place `json:"into,omitempty"`
	// Apart says that the buffer is no parameter of its own, also where no place gets its address.
	Apart bool `json:"apart,omitempty"`
	// Map has the driver encode a tensor map, which is the parameter.
	Map *mapSpec `json:"map,omitempty"`
	// Probing says that the output's initial contents may be replaced to see which elements are written.
	Probing bool `json:"probing,omitempty"`
}

// mapSpec is a tensor map: of which argument's buffer, from which of its bytes on.
type mapSpec struct {
	tensormap.Map
	Of   int   `json:"of"`
	Skip int64 `json:"skip,omitempty"`
}

// probeSpec is the capture: the control block is the request's buffer Control with two
// addresses to be filled in.
type probeSpec struct {
	Capture   int64 `json:"capture"` // bytes of the capture buffer
	Fill      byte  `json:"fill"`    // what each of them is before a launch
	Inject    int64 `json:"inject"`
	Injected  int   `json:"injected"` // the request's buffer with the injected tiles; -1: zeros
	Control   int   `json:"control"`
	CaptureAt int   `json:"capture_at"` // offsets of the addresses in the control block
	InjectAt  int   `json:"inject_at"`
	Pass      bool  `json:"pass"` // the control block is the last parameter
}

// launchOp launches one kernel Repeat times. The answer streams the outputs, in the order of the arguments,
// then the capture buffer.
type launchOp struct {
	Spec   launchSpec `json:"spec"`
	Repeat int        `json:"repeat"`
	Bare   bool       `json:"bare,omitempty"` // once, from buffers without guard bands, for tools
	// Unset leaves buffers without contents as they were allocated, for a tool that looks for reads of them.
	Unset bool `json:"unset,omitempty"`
}

// timeOp times launches, interleaved.
type timeOp struct {
	Specs    []launchSpec `json:"specs"`
	Warmups  int          `json:"warmups"`
	Launches int          `json:"launches"`
	FlushL2  bool         `json:"flush_l2"`
}

// progress says what the worker has just done.
type progress struct {
	Step string `json:"step"` // "load", "launch", "read", "time"
	N    int    `json:"n"`    // launches finished
}

// result ends a request that succeeded; the member of the operation's name is set.
type result struct {
	Devices *devicesResult  `json:"devices,omitempty"`
	Open    *devicesResult  `json:"open,omitempty"` // one device
	Load    *loadResult     `json:"load,omitempty"`
	Launch  *launchResult   `json:"launch,omitempty"`
	Time    [][]float64     `json:"time,omitempty"`
	Memory  *memoryResult   `json:"memory,omitempty"`
	Compile *compiledResult `json:"compile,omitempty"`
	Sample  *Telemetry      `json:"sample,omitempty"`
}

type devicesResult struct {
	Library string   `json:"library"`
	Version string   `json:"version"`
	Devices []Device `json:"devices"`
}

type functionInfo struct {
	Registers  int `json:"registers"`
	Shared     int `json:"shared"`
	Local      int `json:"local"`
	MaxThreads int `json:"max_threads"`
	Binary     int `json:"binary"` // architecture of the code, 90
}

type loadResult struct {
	Kernel int          `json:"kernel"`
	Info   functionInfo `json:"info"`
	Log    string       `json:"log"` // the compiler's
}

type memoryResult struct {
	Free  uint64 `json:"free"`
	Total uint64 `json:"total"`
}

// launchResult is what the launches showed; buffer numbers are those of the arguments, len(args) for
// the capture buffer.
type launchResult struct {
	Micros    float64        `json:"micros"`              // device time of the first launch
	Unwritten map[string]int `json:"unwritten,omitempty"` // elements by output
	Overruns  []overrun      `json:"overruns,omitempty"`
	Varied    []variation    `json:"varied,omitempty"`
	// Uncompared: buffers that the device had no room to keep a copy of
	Uncompared []int  `json:"uncompared,omitempty"`
	Printed    []byte `json:"printed,omitempty"`
}

// overrun is a guard band that was written to.
type overrun struct {
	Buffer int  `json:"buffer"`
	After  bool `json:"after"` // the band behind the buffer, else the one before it
	// First: of the bytes changed, the nearest to the buffer: its distance from the buffer's edge, 0 adjoins
	First  int64 `json:"first"`
	Bytes  int   `json:"bytes"`
	Launch int   `json:"launch"`
}

// variation is a buffer that a later launch left different.
type variation struct {
	Buffer int `json:"buffer"`
	// Words: 32-bit words that differ in any launch, ascending: index·16 + a bit for each
	// byte; at most maxVaried
	Words  []int64 `json:"words"`
	Total  int64   `json:"total"` // words, in the launch where most differ
	Launch int     `json:"launch"`
}

// failure ends a request that failed.
type failure struct {
	Call      string `json:"call,omitempty"`
	Code      int    `json:"code,omitempty"`
	Name      string `json:"name,omitempty"`
	Message   string `json:"message,omitempty"` // where no call failed
	Log       string `json:"log,omitempty"`     // of a compilation
	Line      int    `json:"line,omitempty"`
	Text      string `json:"text,omitempty"`
	Launch    int    `json:"launch,omitempty"` // which of the launches, counted from 1; 0: none had started
	Kind      string `json:"kind,omitempty"`   // "no-driver", "no-device", "no-sanitizer"
	Fatal     bool   `json:"fatal,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	// Fault and PTX are what the emulator's error was.
	Fault *wireFault `json:"fault,omitempty"`
	PTX   *wirePTX   `json:"ptx,omitempty"`
}
