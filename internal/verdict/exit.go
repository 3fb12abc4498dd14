package verdict

// ExitCode of the command line: 0 for any PASS, 1 for any FAIL, 2 for
// everything that could not be told.
func (s State) ExitCode() int {
	switch {
	case isPass(s):
		return 0
	case isFail(s):
		return 1
	}
	return 2
}

func isPass(s State) bool { return s == PassSmoke || s == PassHardening }
func isFail(s State) bool { return s == FailReproducible || s == FailNondetermin }
