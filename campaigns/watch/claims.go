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

// Claims are the versions that claim to fix findings, by the findings' IDs. A version that
// had a round claims it by naming the finding or its issue in its notes. The newest counts.
func (j *Journal) Claims(findings map[string]Issue) map[string]string {
	claims := map[string]string{}
	for _, r := range j.Rounds {
		for id, issue := range findings {
			if semver.Compare(r.Release.Version, claims[id]) > 0 && names(r.Release, id, issue) {
				claims[id] = r.Release.Version
			}
		}
	}
	return claims
}

// names reports whether the notes of a release name a finding by its ID, or its issue as
// GitHub does: #7 in the repository itself, OWNER/REPO#7 and the issue's address anywhere.
func names(r Release, id string, issue Issue) bool {
	if strings.Contains(r.Notes, id) {
		return true
	}
	if issue.Number == 0 {
		return false
	}
	repo := regexp.QuoteMeta(issue.Repo)
	forms := []string{fmt.Sprintf(`\b%s#%d\b`, repo, issue.Number), fmt.Sprintf(`\b%s/issues/%d\b`, repo, issue.Number)}
	if strings.EqualFold(r.Repo, issue.Repo) {
		forms = append(forms, fmt.Sprintf(`(?:^|[^\w/])#%d\b`, issue.Number))
	}
	return regexp.MustCompile(`(?im)` + strings.Join(forms, "|")).MatchString(r.Notes)
}
