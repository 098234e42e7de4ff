//go:build !cgo || !linux || nogpu

package cuda

import "fmt"

// Monitor samples nothing in this build.
type Monitor struct{}

var errNoNVMLBuilt = fmt.Errorf("%w: built without it (it takes cgo on Linux)", ErrNoNVML)

// OpenMonitor says why there is no telemetry.
func OpenMonitor(Device) (*Monitor, error) { return nil, errNoNVMLBuilt }

// Close does nothing.
func (*Monitor) Close() {}

// Sample returns no value that is known.
func (*Monitor) Sample() Telemetry { return Telemetry{} }

func nvmlVersions() (driver, library string, err error) { return "", "", errNoNVMLBuilt }
