package races

import (
	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
)

// What tests of the controller look at.

func (v *Controller) Pane() *Pane               { return v.pane }
func (v *Controller) Diagnosed() bool           { return v.diagnosed() }
func (v *Controller) Selected() *report.Finding { return v.selected() }
func (v *Controller) Inquirer() Investigator    { return v.inquirer }
func (v *Controller) FetchScene() tea.Cmd       { return v.fetchScene() }

// Show puts a diagnosis of the request on screen.
func (v *Controller) Show(doc *diagnose.Diagnosis) {
	v.race.doc, v.race.of = doc, v.subject()
	v.showRaces()
}
