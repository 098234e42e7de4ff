package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/request"
)

// WithDefaults is the request with everything at its default that the top line can show, on the target from
// which a fault took it. kept says what stays because there is no default for it, "" where nothing does.
func (x *Context) WithDefaults() (req debugkern.Request, kept string) {
	req = request.Plain(x.Req)
	if from := x.origin.target; from.led != "" && from.led == req.Target {
		if man, _ := x.ManifestOf(from.from); man != nil {
			req.Target = from.from
		}
	}
	why := map[string]string{}
	man, _ := x.ManifestOf(req.Target)
	switch {
	case len(x.Req.Launch) > 0: // a file's own launch
		req.Shape = x.Req.Shape
	case man == nil: // a run says what is wrong with it
	default:
		if _, err := man.ParseShape(request.ShapeName(req)); err != nil {
			req.Shape, req.Inputs = x.Req.Shape, x.Req.Inputs
			why["shape"] = "the kernel names no shape"
			why["inputs"] = "they have the shape, and the kernel names none"
		}
	}
	if man != nil && !man.Referenced() { // all that there is to say of it is what the checkers find
		req.Check, why["check"] = x.Req.Check, "the kernel is compared with nothing"
	}
	var stays []string
	for _, d := range request.Deviations(req) {
		stays = append(stays, d.Long+" stays: "+why[d.Name])
	}
	return req, strings.Join(stays, " · ")
}

// ChooseDefaults runs the request's kernel with everything at its default that the top line can show, and has
// views take back choices of their own. also is what was taken back besides.
func (x *Context) ChooseDefaults(also ...string) tea.Cmd {
	var own []string
	announced := x.Root.Announce(Reset{Back: func(what string) { own = append(own, what) }})
	return tea.Batch(announced, x.chooseDefaults(own, also))
}

func (x *Context) chooseDefaults(own, also []string) tea.Cmd {
	req, kept := x.WithDefaults()
	if kept != "" {
		kept = " · " + kept
	}
	if request.Same(x.Req, req) && !x.replaying.on && also == nil {
		switch {
		case len(own) > 0:
			x.Say("reset: " + strings.Join(own, ", ") + kept)
		case kept == "":
			x.Say("everything that changes what runs is at its default already")
		default:
			x.Say("nothing else differs from its default" + kept)
		}
		return nil
	}
	taken := append(append(request.Differences(x.Req, req), also...), own...)
	cmd := x.Choose(req, "reset: "+strings.Join(taken, ", ")+kept)
	if cmd != nil {
		x.origin = Origin{}
	}
	return cmd
}
