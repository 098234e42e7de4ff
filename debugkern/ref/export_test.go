package ref

// Vertices is how many nodes of the computation a graph has, those that are shared counted once.
func (g *Graph) Vertices() int { return len(g.vertices) }
