// Package configs reads what a person writes: kernel manifests and tilescope's own configuration.
//
// The one idea: text becomes typed values or a list of located mistakes, all of them at once, and nothing
// downstream ever sees an expression, a YAML node or a string that should have been a number. A manifest
// (ParseManifest) is selected for a variant, flags, faults and a gate (Manifest.Select) and resolved for a
// shape into a probes.Plan (Selection.Resolve).
//
// It must not know PTX, backends, or what any kernel computes.
package configs
