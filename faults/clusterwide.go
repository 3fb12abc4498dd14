package faults

// Cluster faults do to nodes, one after the other, what operators do.
func clusterKinds() []Kind {
	return []Kind{
		rollingRestart(),
		replaceNode(),
		upgrade(),
		configDivergence(),
	}
}
