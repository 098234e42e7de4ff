package hostcode

import "slices"

// Initialise gives variables at namespace scope that have no initialiser one, by name: a list in braces.
// Every line stays where it is. A declaration of several variables is left as it is. It returns the names of
// the variables that were given one, in order.
func Initialise(text []byte, lists map[string]string) ([]byte, []string) {
	u := Read("", text)
	w := &rewriter{u: u}
	var names []string
	for _, d := range u.decls {
		if d.form != variable || len(d.names) != 1 || lists[d.names[0]] == "" || d.to <= d.head ||
			u.str(u.code[d.to-1]) != ";" || !u.bare(d.head, d.to-1) {
			continue
		}
		at := u.code[d.to-1].start
		w.edits = append(w.edits, edit{at, at, " = " + lists[d.names[0]]})
		names = append(names, d.names[0])
	}
	if names == nil {
		return text, nil
	}
	return w.apply(), names
}

// bare reports a declaration of one variable without an initialiser.
func (u *Unit) bare(from, to int) bool {
	for i := from; i < to; i++ {
		w := u.str(u.code[i])
		if w == "(" && i > from && slices.Contains([]string{"alignas", "__align__"}, u.str(u.code[i-1])) {
			i = max(i, u.pairs[i])
			continue
		}
		if slices.Contains([]string{"=", "{", "(", ",", "extern"}, w) {
			return false
		}
	}
	return true
}
