package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/clients"
)

func (a *app) sdksInstall() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "install SDK… | --all",
		Short: "Build drivers ahead, so that runs need no network",
		Long: "Builds the drivers of SDKs, and continues if one fails. Exit status: 1 if one failed, or one that was\n" +
			"named is not supported on this machine; with --all that is said, and fails nothing.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("name SDKs, or give --all; `rmq-mcp sdks list` shows what there is")
			}
			sdks, err := sdksNamed(args)
			if err != nil {
				return err
			}
			cache, err := a.cache()
			if err != nil {
				return err
			}
			argv, err := self()
			if err != nil {
				return err
			}
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			i := installing{w: cmd.OutOrStdout(), p: paintTo(cmd.OutOrStdout()), total: len(sdks), strict: !all}
			began := time.Now()
			clients.Install(ctx, cache, argv, sdks, i.say, i.done)
			fmt.Fprintf(i.w, "\n%s after %s\n", i.summary(), time.Since(began).Round(time.Second))
			if i.failed > 0 || i.strict && i.unsupported > 0 {
				return exit(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every SDK of the catalogue")
	return cmd
}

// installing shows how an installation goes.
type installing struct {
	mu                         sync.Mutex
	w                          io.Writer
	p                          paint
	strict                     bool // unsupported is as bad as failed
	total                      int
	ready, failed, unsupported int
}

// say shows one step of one SDK.
func (i *installing) say(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fmt.Fprintf(i.w, "%s\n", i.p.faint("        "+text))
}

// done shows what became of one SDK.
func (i *installing) done(in clients.Installation) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var lacks *clients.Unsupported
	state, why := i.p.good("ready"), ""
	switch {
	case in.Err == nil:
		i.ready++
	case errors.As(in.Err, &lacks):
		i.unsupported++
		state, why = i.p.doubt("unsupported"), lacks.Missing
	default:
		i.failed++
		state, why = i.p.bad("FAILED"), in.Err.Error()
	}
	count := fmt.Sprintf("%d/%d", i.ready+i.failed+i.unsupported, i.total)
	fmt.Fprintf(i.w, "%-7s %s %s", count, in.SDK, state)
	if in.Took >= time.Second {
		fmt.Fprintf(i.w, " after %s", in.Took.Round(time.Second))
	}
	if why != "" {
		fmt.Fprintf(i.w, ": %s", why)
	}
	fmt.Fprintln(i.w)
}

func (i *installing) summary() string {
	text := i.p.good(fmt.Sprintf("%d ready", i.ready))
	if i.failed > 0 {
		text += ", " + i.p.bad(fmt.Sprintf("%d failed", i.failed))
	}
	if i.unsupported > 0 {
		text += ", " + i.p.doubt(fmt.Sprintf("%d unsupported on this machine", i.unsupported))
	}
	return text
}
