package report

// Environment is what executes, as far as it can be determined before anything does.
type Environment struct {
	Backend string  `json:"backend"`
	Device  string  `json:"device"`
	Arch    string  `json:"arch"`
	Driver  string  `json:"driver"` // the CUDA version that the driver supports; "" without a GPU
	Clocks  *Clocks `json:"clocks"`
}

// Clocks is a device's state at one moment; a number the driver does not report is left out.
type Clocks struct {
	SM          int      `json:"sm_mhz,omitempty"`
	MaxSM       int      `json:"max_sm_mhz,omitempty"`
	Memory      int      `json:"memory_mhz,omitempty"`
	Power       int      `json:"power_mw,omitempty"`
	Temperature int      `json:"temperature_c,omitempty"`
	Throttle    []string `json:"throttle"`
	Slowed      bool     `json:"slowed"`
}
