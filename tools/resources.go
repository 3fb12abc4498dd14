package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/reports"
)

// A family is resources that differ in a name: the scenarios, the reports of runs,
// the faults. It is listed as one template, and a host completes the name.
type family struct {
	subject string // a key of subjects
	scheme  string // of its addresses: SCHEME://NAME
	about   string
	read    func(ctx context.Context, name string) (text, mime string, err error)
}

func (a *agent) families() []family {
	return []family{
		{"scenario", "scenario", "A scenario of the library: steps, claims, what to vary.", a.scenarioText},
		{"run", "report", "The report of a run, as people read it.", a.reportText},
		{"fault", "fault", "A fault type: its parameters, and how it is done on this host.", a.faultText},
	}
}

// template is a family's address in the notation of RFC 6570. A name has slashes in
// it, so the expansion is the reserved one.
func (f family) template() string { return f.scheme + "://{+name}" }

func (s *Server) addFamilies(families []family) {
	for _, f := range families {
		template := mcp.NewResourceTemplate(f.template(), f.scheme, mcp.WithTemplateDescription(f.about))
		s.mcp.AddResourceTemplate(template, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			uri := request.Params.URI
			text, mime, err := f.read(ctx, strings.TrimPrefix(uri, f.scheme+"://"))
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", uri, err)
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text}}, nil
		})
	}
}

func (a *agent) scenarioText(_ context.Context, name string) (text, mime string, err error) {
	if err := a.known(name); err != nil {
		return "", "", err
	}
	s, err := a.backend.Scenario(name)
	return s.Text, markdown, err
}

func (a *agent) reportText(_ context.Context, id string) (text, mime string, err error) {
	dir, err := a.find(id)
	if err != nil {
		return "", "", err
	}
	report, err := reports.Dir(dir).Markdown()
	if err != nil {
		return "", "", fmt.Errorf("%w; a report is written once the run is judged, and get_run waits for it", err)
	}
	return string(report), markdown, nil
}

func (a *agent) faultText(ctx context.Context, kind string) (text, mime string, err error) {
	if err := a.knownFault(kind); err != nil {
		return "", "", err
	}
	host, err := a.backend.Preflight(ctx)
	if err != nil {
		return "", "", fmt.Errorf("look at the host: %w", err)
	}
	at := slices.IndexFunc(host.Faults, func(f experiment.FaultMeans) bool { return f.Type == kind })
	if at < 0 {
		return "", "", fmt.Errorf("nothing is known of the fault %s on this host", kind)
	}
	means, err := json.MarshalIndent(host.Faults[at], "", "  ")
	return string(means), "application/json", err
}
