package kube

import "time"

// Watched sets for how long a lease that seems over is watched.
func (l *Lease) Watched(d time.Duration) { l.unsure = d }
