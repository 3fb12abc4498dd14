package verdict

// ExitCode of the command line: 0 for any PASS, 1 for any FAIL, 2 for
// everything that could not be told.
func (s State) ExitCode() int {
	switch {
	case isPass(s):
		return 0
	case s.Failed():
		return 1
	}
	return 2
}

func isPass(s State) bool { return s == PassSmoke || s == PassHardening }

// Failed reports whether a claim was violated, however often.
func (s State) Failed() bool {
	return s == FailReproducible || s == FailNondetermin || s == FailOnce
}
