package report

// DoctorSchema names the document that doctor prints.
const DoctorSchema = "tilescope.doctor/1"

// Doctor is the document tilescope.doctor/1: what works on this machine.
type Doctor struct {
	Schema string        `json:"schema"`
	Checks []DoctorCheck `json:"checks"`
}

// DoctorCheck is one thing looked for.
type DoctorCheck struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Detail  string `json:"detail"`
	Enables string `json:"enables"` // what it makes possible
	Install string `json:"install"` // what to install to have it
}
