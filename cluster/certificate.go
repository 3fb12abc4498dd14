package cluster

import "github.com/robustmq/rmq-mcp/internal/certificate"

// certify makes the certificate that all nodes use, and the one that clients trust.
// The nodes' addresses are known by now.
func (p *plan) certify(opts Options) (certificate.Files, error) {
	dir, err := makeDir(opts, "certs")
	if err != nil {
		return certificate.Files{}, err
	}
	var hosts []string
	for _, n := range p.nodes {
		hosts = append(hosts, n.Address())
	}
	files, err := certificate.Write(dir, hosts...)
	p.ca = files.CA
	return files, err
}
