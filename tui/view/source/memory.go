package source

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
)

// savedStop is a breakpoint as the state file has it.
type savedStop struct {
	walk.Breakpoint
	When string // as it is written
	Off  bool   `json:",omitempty"`
	At   anchor // the statement
}

// remembered is what the next session takes up, by kernel; "" for nothing.
func (s *walking) remembered() (stops, watches string) {
	all := maps.Clone(s.others)
	all[s.kernel] = s.stopSet
	breaks, texts := map[string][]savedStop{}, map[string][]string{}
	for kernel, set := range all {
		for _, b := range set.breaks {
			one := savedStop{Breakpoint: b.Breakpoint, When: b.When.String(), Off: b.off, At: b.anchor}
			one.Breakpoint.When = expr.Condition{}
			breaks[kernel] = append(breaks[kernel], one)
		}
		for _, w := range set.watches {
			texts[kernel] = append(texts[kernel], w.e.String())
		}
	}
	text := func(v any, n int) string {
		if n == 0 {
			return ""
		}
		data, err := json.Marshal(v)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(data)
	}
	return text(breaks, len(breaks)), text(texts, len(texts))
}

// recall takes up what was remembered; what cannot be read is left out, and the error says what.
func (s *walking) recall(breaks, watches string) error {
	saved, texts := map[string][]savedStop{}, map[string][]string{}
	var errs []error
	if strings.HasPrefix(breaks, "[") || strings.HasPrefix(watches, "[") {
		return nil // of a version that did not say of which kernel they are
	}
	if breaks != "" {
		errs = append(errs, json.Unmarshal([]byte(breaks), &saved))
	}
	if watches != "" {
		errs = append(errs, json.Unmarshal([]byte(watches), &texts))
	}
	for _, kernel := range slices.Sorted(maps.Keys(saved)) {
		var set stopSet
		for _, b := range saved[kernel] {
			when, err := expr.ParseCondition(b.When)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			b.Breakpoint.When = when
			set.breaks = append(set.breaks, stop{off: b.Off, anchor: b.At, Breakpoint: b.Breakpoint})
		}
		s.addTo(kernel, set)
	}
	for _, kernel := range slices.Sorted(maps.Keys(texts)) {
		var set stopSet
		for _, text := range texts[kernel] {
			e, err := expr.Parse(text, cursorNames...)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			set.watches = append(set.watches, watch{e: e})
		}
		s.addTo(kernel, set)
	}
	return errors.Join(errs...)
}

// addTo adds breakpoints and watches to those of a kernel.
func (s *walking) addTo(kernel string, more stopSet) {
	if kernel == s.kernel {
		s.add(more)
		return
	}
	set := s.others[kernel]
	set.add(more)
	s.others[kernel] = set
}
