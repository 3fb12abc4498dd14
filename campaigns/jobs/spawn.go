package jobs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/environ"
)

// Main is the process of a job. It outlives the server that began it. Its standard input is the
// password of an external broker, its first line of output how it began.
func Main(ctx context.Context, r attempt.Runner, id string) error {
	password, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read the password for %s: %w", id, err)
	}
	os.Setenv(attempt.PasswordEnv, string(password))
	jobDir, err := campaigns.OpenJobDir(filepath.Join(r.Dir, campaigns.JobsDir, id))
	if err == nil {
		r.Tell = func(line string) { fmt.Fprintln(os.Stderr, line) }
		_, err = Work(ctx, r, jobDir, func() { fmt.Println(begun) })
	}
	if err != nil {
		fmt.Println(err)
	}
	return err
}

const begun = "begun"

// Spawn starts a process for a job, and returns once it works. argv is the command line of rmq-mcp. The
// environment of the process has no secrets, so the password goes by standard input.
func Spawn(dir string, argv []string, jobDir *campaigns.JobDir) error {
	log, err := os.OpenFile(filepath.Join(jobDir.Dir, campaigns.JobLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("begin %s: %w", jobDir.ID(), err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], append(slices.Clone(argv[1:]), "job", dir, jobDir.ID())...)
	cmd.Stderr = log
	cmd.Stdin = strings.NewReader(cmp.Or(jobDir.Job.Start.Cluster.Password.Reveal(), os.Getenv(attempt.PasswordEnv)))
	cmd.Env = environ.Own()
	keeper.Detach(cmd)
	heard, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("begin %s: %w", jobDir.ID(), err)
	}
	said := bufio.NewScanner(heard)
	said.Scan()
	word := said.Text()
	go func() {
		for said.Scan() { // the process must not wait for this one, or end with it
		}
		cmd.Wait()
	}()
	if word != begun {
		return fmt.Errorf("begin %s: %s; see %s", jobDir.ID(), cmp.Or(word, "its process ended"), log.Name())
	}
	return nil
}
