package clients

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/install"
)

// javaLibraries are the SDKs of Java.
func javaLibraries() []Library {
	both := []string{contract.MQTT3, contract.MQTT5}
	all := []string{contract.TLS, contract.WS, contract.WSS}
	return []Library{
		{
			Lang: "java", Package: "hivemq-mqtt-client", Protocols: both, Transports: all, Dedupes: true,
			Cannot:   []string{contract.CannotDup, contract.CannotPacketID},
			Versions: []Version{{Version: "1.3.17"}},
			Source:   "java/hivemq", Shared: "java/driver", build: java{},
		},
		{
			Lang: "java", Package: "org.eclipse.paho.client.mqttv3", Protocols: both[:1], Transports: all, Dedupes: true,
			Versions: []Version{{Version: "1.2.5"}, {Version: "1.2.3"}, {Version: "1.2.0"}},
			Source:   "java/mqttv3", Shared: "java/driver", build: java{},
		},
		{
			Lang: "java", Package: "org.eclipse.paho.mqttv5.client", Protocols: both[1:], Transports: all,
			Versions: []Version{{Version: "1.2.5"}},
			Source:   "java/mqttv5", Shared: "java/driver", build: java{},
		},
		{
			Lang: "java", Package: "jnats", Protocols: []string{contract.MQ9},
			Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
			Versions: []Version{{Version: "2.26.2"}},
			Source:   "java/nats", Shared: "java/driver", build: java{},
		},
	}
}

// java compiles a driver against the jars of an SDK, which Maven downloads. A
// lock has a line for each jar: its SHA-256, and group:artifact:version. Only the
// jars in the lock are taken. Dependencies are not followed.
type java struct{}

const (
	javaLeast  = "11"  // the language and the classes of the drivers
	javaLib    = "lib" // the jars, in a driver's folder
	javaDriver = "driver.jar"
)

// copyDependencies is the plugin of Maven that downloads, in a version that
// knows Maven from 3.6 on.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

func (java) runtime() tool {
	return tool{names: []string{"java"}, version: []string{"-version"}, least: javaLeast, install: javaInstall()}
}

func (java) tools() []tool {
	return []tool{
		{names: []string{"javac"}, least: javaLeast, install: javaInstall()},
		{names: []string{"jar"}, least: javaLeast, install: javaInstall()},
		{names: []string{"mvn"}, least: "3.6", install: javaInstall()},
	}
}

func javaInstall() systemPackages {
	return systemPackages{debian: "default-jdk-headless maven", brew: "openjdk maven",
		winget: "EclipseAdoptium.Temurin.21.JDK, and Maven from https://maven.apache.org"}
}

func (j java) identity(ctx context.Context) string {
	path, version, err := j.runtime().find(ctx)
	if err != nil {
		return ""
	}
	return path + " " + version
}

func (j java) missing(ctx context.Context, _ SDK) string {
	for _, t := range append(j.tools(), j.runtime()) {
		if _, _, err := t.find(ctx); err != nil {
			return fmt.Sprintf("the drivers of Java need a JDK, version %s or newer, and Maven: %s", javaLeast, err)
		}
	}
	return ""
}

func (j java) make(ctx context.Context, b build) error {
	jars, err := parseJars(b.lock)
	if err != nil {
		return err
	}
	b.say("downloading")
	if err := j.download(ctx, b, jars); err != nil {
		return err
	}
	b.say("compiling")
	return j.compile(ctx, b)
}

// download fills the driver's folder of jars, and keeps no other than those of
// the lock.
func (j java) download(ctx context.Context, b build, jars []javaJar) error {
	pom := filepath.Join(b.temp, "pom.xml")
	if err := os.WriteFile(pom, pomOf(jars), 0o644); err != nil {
		return err
	}
	lib := filepath.Join(b.dir, javaLib)
	if err := j.maven(ctx, b, copyDependencies, "-f", pom, "-DoutputDirectory="+lib); err != nil {
		return err
	}
	for _, jar := range jars {
		if err := jar.verify(lib); err != nil {
			return err
		}
	}
	found, err := os.ReadDir(lib)
	if err == nil && len(found) != len(jars) {
		err = fmt.Errorf("the lock has %d jars, and Maven gave %d", len(jars), len(found))
	}
	return err
}

// maven runs Maven. Two of them must not fill one local repository at the same
// time: it writes files under their final names.
func (j java) maven(ctx context.Context, b build, goal string, arguments ...string) error {
	path, err := exec.LookPath("mvn")
	if err != nil {
		return err
	}
	lock, err := install.Lock(ctx, lockOf(b.downloads))
	if err != nil {
		return fmt.Errorf("wait for another Maven: %w", err)
	}
	defer lock.Unlock()
	argv := []string{path, "--batch-mode", "--no-transfer-progress", "--quiet",
		"-Dstyle.color=never", "-Dmaven.repo.local=" + b.downloads, goal}
	return b.run(ctx, b.temp, nil, append(argv, arguments...)...)
}

// compile makes driver.jar of the driver's sources.
func (j java) compile(ctx context.Context, b build) error {
	sources, classes := filepath.Join(b.temp, "sources"), filepath.Join(b.temp, "classes")
	if err := b.copySources(sources); err != nil {
		return err
	}
	files, err := fs.Glob(os.DirFS(sources), "*.java")
	if err != nil {
		return err
	}
	argv := append([]string{"javac", "--release", javaLeast, "-proc:none", "-encoding", "UTF-8",
		"-d", classes, "-cp", filepath.Join(b.dir, javaLib, "*")}, files...)
	if err := b.run(ctx, sources, nil, argv...); err != nil {
		return err
	}
	return b.run(ctx, b.temp, nil, "jar", "--create", "--file", filepath.Join(b.dir, javaDriver), "-C", classes, ".")
}

// program starts quickly rather than being fast for long: it compiles little,
// and collects garbage in one thread. The virtual machine's own words go to stderr,
// which by default is not so. It leaves no performance data in /tmp under its pid,
// which is another's in another namespace.
func (java) program(dir string, _ SDK) Program {
	path := filepath.Join(dir, javaDriver) + string(os.PathListSeparator) + filepath.Join(dir, javaLib, "*")
	return Program{Argv: []string{"java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData", "-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr", "-cp", path, "Main"}}
}
