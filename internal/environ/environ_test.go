package environ

import (
	"slices"
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	environment := []string{
		"PATH=/bin", "LC_ALL=C", "Path=C:\\", "https_proxy=http://proxy:3128", "PIP_INDEX_URL=https://mirror", "GOFLAGS=-trimpath",
		"RMQ_ROBUSTMQ_BIN=/broker", "RMQ_TEST_HOLDER=x", "DOCKER_HOST=unix:///docker.sock", "=C:=C:\\", "EDITOR=vi",
		"GITHUB_TOKEN=s", "RMQ_GITHUB_TOKEN=s", "RMQ_MCP_TOKEN=s", "RMQ_PASSWORD=s", "NPM_TOKEN=s", "npm_config__auth=s",
		"CARGO_REGISTRY_TOKEN=s", "AWS_SECRET_ACCESS_KEY=s", "ANTHROPIC_API_KEY=s", "PIP_PASSWORD=s", "DATABASE_URL=s", "SSH_AUTH_SOCK=s",
		"ROBUSTMQ_CONFIG=s", "MAVEN_CREDENTIALS=s", "GOOGLE_APPLICATION_CREDENTIALS=s", "JAVA_KEY=s",
	}
	runs := []string{"PATH", "LC_ALL", "Path", "RMQ_TEST_HOLDER"}
	builds := append(slices.Clone(runs), "https_proxy", "PIP_INDEX_URL", "GOFLAGS")
	for _, test := range []struct {
		name     string
		patterns []string
		want     []string
	}{
		{"bare", bare(), runs},
		{"building", append(bare(), building()...), builds},
		{"own", slices.Concat(bare(), building(), own()), append(builds, "RMQ_ROBUSTMQ_BIN", "DOCKER_HOST")},
	} {
		var got []string
		for _, variable := range listed(environment, test.patterns) {
			name, value, _ := strings.Cut(variable, "=")
			if value == "s" {
				t.Errorf("%s: %s is let out", test.name, name)
			}
			got = append(got, name)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
