package watch

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// An Issue is one of a repository, OWNER/REPO.
type Issue struct {
	Repo   string
	Number int
}

// A Claim is a line of a release's notes by which it fixes a finding.
type Claim struct {
	Version string
	Line    string
}

// Claims are the claims to fix findings, by the findings' IDs, of all that is watched from a
// state directory. Releases that had a round count, and of each finding's claims the newest.
func Claims(stateDir string, findings map[string]Issue) (map[string]Claim, error) {
	journals, err := Journals(stateDir)
	if err != nil {
		return nil, err
	}
	claims := map[string]Claim{}
	for _, j := range journals {
		for _, r := range j.Rounds {
			for id, issue := range findings {
				if line := claim(r.Release, id, issue); line != "" && semver.Compare(r.Release.Version, claims[id].Version) > 0 {
					claims[id] = Claim{r.Release.Version, line}
				}
			}
		}
	}
	return claims, nil
}

// A line with a word of fixing says that something is fixed, but for one with a word of unfixed.
var (
	fixing  = regexp.MustCompile(`(?i)(^|[^\w-])(fix(es|ed)?|close[sd]?|resolve[sd]?)([^\w-]|$)`)
	unfixed = regexp.MustCompile(`(?i)(^|[^\w-])(not|cannot|no|never|without|known|still|will|should|may|might|to be|regress\w*|fails?|failed|revert(s|ed)?|reopen(s|ed)?|part(ly|ially)?)([^\w-]|$)|n['’]t\b`)
)

// reference is an issue of whichever repository: a line that names another one may be about that.
var reference = regexp.MustCompile(`#\d+|/issues/\d+`)

// mostLine bounds a line that is quoted, in bytes.
const mostLine = 300

// claim is the line of a release's notes by which it fixes a finding, "" for none. The line
// names the finding's ID, or its issue as GitHub does: #7 in the repository itself,
// OWNER/REPO#7 and the issue's address anywhere.
func claim(r Release, id string, issue Issue) string {
	named := regexp.MustCompile(`(?i)(^|[^\w-])` + regexp.QuoteMeta(id) + `([^\w-]|$)`)
	if issue.Number > 0 {
		repo := regexp.QuoteMeta(issue.Repo)
		forms := []string{fmt.Sprintf(`(^|[^\w./-])%s#%d`, repo, issue.Number), fmt.Sprintf(`(^|[^\w.-])github\.com/%s/issues/%d`, repo, issue.Number)}
		if strings.EqualFold(r.Repo, issue.Repo) {
			forms = append(forms, fmt.Sprintf(`(^|[\s(,:])#%d`, issue.Number))
		}
		named = regexp.MustCompile(named.String() + `|(?i)(` + strings.Join(forms, "|") + `)([^\w-]|$)`)
	}
	for line := range strings.Lines(r.Notes) {
		line = strings.TrimSpace(line)
		if len(line) <= mostLine && !reference.MatchString(named.ReplaceAllString(line, " ")) && named.MatchString(line) && fixing.MatchString(line) && !unfixed.MatchString(line) {
			return line
		}
	}
	return ""
}
