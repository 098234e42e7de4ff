package cuda

import (
	"errors"
	"time"
)

// ErrNoNVML is wrapped where the management library is not there, or this program was built without it.
var ErrNoNVML = errors.New("no NVML")

// Telemetry is one sample of a device's state. A number that the driver does not tell is Unknown: a MIG slice
// has no utilisation, a laptop no power limit.
type Telemetry struct {
	At                    time.Time
	SMClock, MaxSMClock   int // MHz
	MemClock, MaxMemClock int // MHz
	Power, PowerLimit     int // milliwatts
	Temperature           int // °C
	// GPUUtil, MemUtil: per cent of the last sampling period in which a kernel ran, memory was accessed
	GPUUtil, MemUtil  int
	MemUsed, MemTotal int64
	Throttle          []string // why the clock is lower than it could be, in words; idle is among them
	Slowed            bool     // one of them is a slowdown: heat, power or an external brake
	Processes         []GPUProcess
	PerformanceState  int  // 0 is the fastest
	MIG               bool // the device is cut into instances
	// ProcessesKnown: false where the driver lists none; in a container it may list none of its own
	ProcessesKnown bool
}

// Unknown stands for a number that the driver does not tell.
const Unknown = -1

// GPUProcess is a process with a context on the device.
type GPUProcess struct {
	PID    int
	Name   string // "" where it cannot be known
	Memory int64  // bytes, Unknown where the driver does not tell
	Kind   string // "compute" or "graphics"
}

// throttleReasons names the bits of NVML's clocks event reasons.
var throttleReasons = []struct {
	bit  uint64
	name string
	slow bool
}{
	{1, "idle", false},
	{2, "clocks set by the user", false},
	{4, "power limit", true},
	{8, "hardware slowdown", true},
	{16, "synchronised with other devices", false},
	{32, "temperature (driver)", true},
	{64, "temperature (hardware)", true},
	{128, "external power brake", true},
	{256, "display clock", false},
}

// throttle puts a mask of reasons into words.
func throttle(mask uint64) (names []string, slowed bool) {
	for _, r := range throttleReasons {
		if mask&r.bit != 0 {
			names = append(names, r.name)
			slowed = slowed || r.slow
		}
	}
	return names, slowed
}
