package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// checkEngine reports whether an engine answers.
func checkEngine(ctx context.Context) error {
	e, err := docker.Open(ctx, "")
	if err != nil {
		return err
	}
	return e.Close()
}

// checkRuntime fills in the runtime and refuses what it cannot do.
func checkRuntime(c *Config) error {
	r, err := RuntimeNamed(c.Runtime)
	if err != nil {
		return err
	}
	c.Runtime = r.Name
	if versionForm.MatchString("v" + c.Version) {
		c.Version = "v" + c.Version
	}
	switch {
	case c.Foreign() && r.Images:
		return fmt.Errorf("runtime %s starts brokers, and those of flavor external run already; leave runtime out, and name their containers in containers", r.Name)
	case !r.Images && c.Image != "":
		return fmt.Errorf("image %s is for the runtimes docker and kubernetes; set runtime, or leave image out", c.Image)
	case c.Version != "" && !c.flavor().Versions:
		return fmt.Errorf("version is for the flavor %s; %s has no versions to choose from", strings.Join(FlavorNames(Versioned), " or "), c.Flavor)
	case c.Version != "" && !versionForm.MatchString(c.Version):
		return fmt.Errorf("version %q is not like v0.4.11", c.Version)
	case r.Images:
		return checkImage(c)
	}
	return nil
}

// checkImage fills in the image, and where the broker lies in it.
func checkImage(c *Config) error {
	for _, arm := range c.Arm {
		if arm != ArmTap && arm != ArmChaosMesh {
			return fmt.Errorf("arm %s: %w: nothing is mounted or loaded beside a broker that is made of an image; use runtime process", arm, ErrUnsupported)
		}
	}
	if fill := c.flavor().image; fill != nil {
		return fill(c)
	}
	if c.Version != "" {
		return fmt.Errorf("version %s: the image says the version of %s in runtime %s; leave version out, or use runtime process", c.Version, c.Flavor, c.Runtime)
	}
	if c.Image == "" {
		return fmt.Errorf("%s needs an image in runtime %s; set image", c.Flavor, c.Runtime)
	}
	c.Binary = cmp.Or(c.Binary, c.flavor().Program)
	return nil
}

// VendorsImage reports whether an image is one that the flavor's vendor
// publishes.
func VendorsImage(c Config) bool {
	images := FlavorNamed(c.Flavor).Images
	tag, ok := strings.CutPrefix(c.Image, images+":")
	return ok && images != "" && (tag == "latest" || versionForm.MatchString(tag))
}

// An adopter is a network that takes hosts whose namespace was made elsewhere.
type adopter interface {
	Adopt(name string, ns *os.File) (Host, error)
}

// A dock is the docker engine as the runtime of one cluster. Every node has
// two containers: one holds its network, which is a host of the star, and
// outlives the broker in the other.
type dock struct {
	opts   Options
	engine *docker.Engine
	made   docker.Image
	held   []*docker.Network
}

// openDock gets the image and makes the nodes' hosts.
func openDock(ctx context.Context, opts Options) (_ nodeRuntime, err error) {
	star, ok := opts.Network.(adopter)
	if !ok {
		return nil, fmt.Errorf("runtime docker: %w: containers join a network of namespaces, and this experiment has %s; use Linux, as root, or runtime process", ErrUnsupported, opts.Network.Isolation())
	}
	if opts.Run == "" || opts.Ledger == nil {
		return nil, errors.New("runtime docker: no run is named that its containers would belong to")
	}
	d := &dock{opts: opts}
	if d.engine, err = docker.Open(ctx, ""); err != nil {
		return nil, fmt.Errorf("runtime docker: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	self, err := d.engine.ImportSelf(ctx, lookSelf(opts.Self[0]))
	if err != nil {
		return nil, fmt.Errorf("make an image of this program: %w", err)
	}
	d.made = self
	if opts.Config.Image != "" {
		if d.made, err = d.engine.Image(ctx, opts.Config.Image, opts.Progress); err != nil {
			return nil, err
		}
	}
	if err := opts.Ledger.Making(docker.Layer, opts.Run, docker.Made{Engine: d.engine.Host(), Run: opts.Run}); err != nil {
		return nil, err
	}
	return d, d.hosts(ctx, star, self)
}

// hosts makes the nodes' networks, all at once, and takes them into the star
// in the order of their names.
func (d *dock) hosts(ctx context.Context, star adopter, self docker.Image) error {
	names := nodeNames(d.opts.Config.Nodes)
	d.held = make([]*docker.Network, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			d.held[i], err = d.engine.Hold(ctx, docker.HoldOptions{
				Name: d.name(name) + "-net", Run: d.opts.Run, Node: name, Image: self, Self: []string{"hold"},
				Dir: filepath.Join(d.opts.Dir, name+"-net"), Labels: d.labels(),
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		if _, err := star.Adopt(name, d.held[i].NS()); err != nil {
			return fmt.Errorf("give container %s a network: %w; this needs root", d.name(name), err)
		}
	}
	return nil
}

// network is the star, which has the nodes' hosts already.
func (d *dock) network(n Network) Network { return n }

func (d *dock) name(node string) string { return "rmq-" + d.opts.Run + "-" + node }

func (d *dock) labels() map[string]string {
	return map[string]string{
		docker.LabelImage:   cmp.Or(d.opts.Config.Image, d.made.Ref),
		docker.LabelVersion: cmp.Or(d.opts.Config.Version, d.opts.Config.Flavor),
	}
}

// put gives every node its container, which is made when it is started.
func (d *dock) put(p *plan) {
	for i, n := range p.nodes {
		n.launcher = &box{log: n.log, make: func(ctx context.Context) (*docker.Container, error) {
			argv := n.command()
			if FlavorNamed(d.opts.Config.Flavor).Embedded {
				argv = append([]string{docker.SelfPath}, argv[1:]...)
			}
			return d.engine.Create(ctx, docker.Spec{
				Name: d.name(n.name), Run: d.opts.Run, Node: n.name, Labels: d.labels(), Image: d.made.ID,
				Entrypoint: argv, Env: n.env, Dir: cmp.Or(n.folder, n.dir), User: userOf(), Network: d.held[i].Join(),
				Binds: []docker.Bind{{From: d.dir(), To: d.dir()}},
			})
		}}
	}
	if d.opts.Config.Image != "" {
		p.binary = ""
	}
}

// dir is the nodes' directory, the same inside and outside of a container.
func (d *dock) dir() string {
	dir, err := filepath.Abs(d.opts.Dir)
	if err != nil {
		return d.opts.Dir
	}
	return dir
}

// close removes every container of the run.
func (d *dock) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := d.engine.RemoveRun(ctx, d.opts.Run)
	for _, n := range d.held {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
	}
	if err == nil {
		err = d.opts.Ledger.Gone(docker.Layer, d.opts.Run)
	}
	return errors.Join(err, d.engine.Close())
}

// image is that of the nodes, by its own hash.
func (d *dock) image() (ref, sum string) {
	return d.made.Ref, strings.TrimPrefix(d.made.ID, "sha256:")
}
