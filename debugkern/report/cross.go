package report

import "strings"

// Cross compares two backends on the same PTX.
type Cross struct {
	Tiles     int          `json:"tiles"`
	Cells     int          `json:"cells"`
	Differing int          `json:"differing"`
	ByStage   []CrossStage `json:"by_stage"`
	Class     string       `json:"class"`
}

// CrossStage is one stage's share of the differing cells.
type CrossStage struct {
	Stage     string `json:"stage"`
	Differing int    `json:"differing"`
}

// StagesText names the stages that differ, "P, U and O differ".
func (d *Cross) StagesText() string {
	names := make([]string, len(d.ByStage))
	for i, s := range d.ByStage {
		names[i] = s.Stage
	}
	if len(names) == 1 {
		return names[0] + " differs"
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " differ"
}
