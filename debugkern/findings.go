package debugkern

import (
	"tilescope/debugkern/target"
)

// findingDocs spells findings as documents do.
func findingDocs(fs []target.Finding) []FindingDoc {
	docs := make([]FindingDoc, 0, len(fs))
	for _, f := range fs {
		d := FindingDoc{
			Kind: string(f.Kind), Severity: string(f.Severity), Message: f.Message, Variable: f.Variable, Index: orEmpty(f.Index),
			Space: f.Space, Block: f.Block, Warps: orEmpty(f.Warps), Lanes: orEmpty(f.Lanes), KVTile: f.KVTile,
			Source: sourceDoc(f.Source), Other: sourceDoc(f.Other), Neighbour: f.Neighbour, Consequence: f.Consequence,
			Count: f.Count, Remedy: f.Remedy, Left: f.Left,
		}
		if f.Missing != "" {
			d.Missing = &f.Missing
		}
		if d.Severity == "" {
			d.Severity = string(f.Kind.Severity())
		}
		d.ID = findingID(&d)
		docs = append(docs, d)
	}
	return docs
}

// orEmpty keeps lists lists in JSON: never null.
func orEmpty(v []int) []int {
	if v == nil {
		return []int{}
	}
	return v
}

func sourceDoc(s *target.Source) *SourceDoc {
	if s == nil {
		return nil
	}
	return &SourceDoc{File: s.File, Line: s.Line, Function: s.Function, Calls: s.Calls}
}
