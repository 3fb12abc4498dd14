// Package environ lists what children may have of this program's environment. Tokens
// stay here. A broker or a client under test, and anything downloaded to test it, is
// somebody else's code and can read its whole environment.
package environ

import (
	"os"
	"slices"
	"strings"
)

// Bare returns the variables that every program needs to run: paths, the language,
// and the behaviour of a runtime that fails. Brokers and client libraries get nothing
// else.
func Bare() []string { return listed(os.Environ(), bare()) }

// Building is Bare and the user's own settings of compilers, package managers and
// proxies, for the tools that make drivers.
func Building() []string { return listed(os.Environ(), append(bare(), building()...)) }

// Own is Building and what this program itself is set by, for its own processes.
func Own() []string { return listed(os.Environ(), slices.Concat(bare(), building(), own())) }

func bare() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR", "TMP", "TEMP", "XDG_*",
		"LD_LIBRARY_PATH", "DYLD_*", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"JAVA_HOME", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "GODEBUG", "GOTRACEBACK", "GORACE", "GOMAXPROCS", "GOMEMLIMIT", "GOCOVERDIR",
		// Windows.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
		"PROGRAMDATA", "PROGRAMFILES*", "COMMONPROGRAMFILES*", "NUMBER_OF_PROCESSORS", "PROCESSOR_*",
		"RMQ_TEST_*", // by which tests find what they started
	}
}

func building() []string {
	return []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
		"PIP_*", "UV_*", "PYTHON*", "PYENV_*", "CARGO_*", "RUST*", "GO*", "CGO_*", "JAVA_*", "MAVEN_*", "MVN_*", "M2_HOME", "JDK_*",
		"NODE_*", "NPM_*", "NVM_*", "CC", "CXX", "CPP", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG*", "CMAKE_*",
	}
}

func own() []string {
	return []string{"RMQ_*", "DOCKER_*", "KUBECONFIG", "KUBERNETES_SERVICE_*", "NO_COLOR"}
}

// listed returns the variables of an environment that match a pattern, without those
// whose name suggests a secret. A pattern may end with a star. Case is ignored: it
// does not matter on Windows, nor on any system for proxy variables.
func listed(environment, patterns []string) (kept []string) {
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name)
		if !secret(name) && slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }) {
			kept = append(kept, variable)
		}
	}
	return kept
}

func matches(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return name == pattern || open && strings.HasPrefix(name, prefix)
}

func secret(name string) bool {
	says := func(word string) bool { return strings.Contains(name, word) }
	return slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "APIKEY", "_AUTH"}, says) || strings.HasSuffix(name, "_KEY")
}
