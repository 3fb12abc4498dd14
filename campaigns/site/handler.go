package site

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// Handler serves the files of a site. Their types do not depend on the machine's table of types, and a
// browser runs no script but those of the templates. Hosts are the names by which a browser may ask, besides
// addresses and localhost. Other names are refused: a page on another site may have pointed one of them
// at this machine.
func Handler(pages string, hosts []string) (http.Handler, error) {
	scripts, err := ScriptHashes()
	if err != nil {
		return nil, err
	}
	files := http.FileServer(http.Dir(pages))
	policy := "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; script-src " + strings.Join(scripts, " ") +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Host, hosts) {
			http.Error(w, fmt.Sprintf("host %q is not served here; start the dashboard with --host to allow it", r.Host), http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this site is only read", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		if kind := typeOf(r.URL.Path); kind != "" {
			h.Set("Content-Type", kind)
		}
		files.ServeHTTP(w, r)
	}), nil
}

// typeOf is the type of a file by its name; "" for a directory.
func typeOf(path string) string {
	switch filepath.Ext(path) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	case ".xml":
		return "application/atom+xml"
	case ".zst":
		return "application/zstd"
	}
	if strings.HasSuffix(path, "/") {
		return ""
	}
	return "text/plain; charset=utf-8"
}

// allowed reports whether a host of a request is an address, localhost, or a name of the operator.
func allowed(host string, more []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return net.ParseIP(strings.Trim(name, "[]")) != nil || strings.EqualFold(name, "localhost") || slices.Contains(more, name)
}
