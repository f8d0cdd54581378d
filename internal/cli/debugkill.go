package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/workload/killtest"
	"github.com/spf13/cobra"
)

type killFlags struct {
	store            string
	keep             bool
	kills, writers   int
	minLoad, maxLoad time.Duration
	early            float64
	seed             uint64
	args             []string
}

func newKillTest(s *streams) *cobra.Command {
	f := &killFlags{}
	c := &cobra.Command{
		Use:   "kill-test",
		Short: "Kill a node at random moments under load and check that it keeps what it acknowledged",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return f.run(s) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.store, "store", "s", "", "directory of the node's store; a new temporary one unless given")
	fl.BoolVar(&f.keep, "keep", false, "keep the store")
	fl.IntVar(&f.kills, "kills", 50, "how often to kill")
	fl.IntVar(&f.writers, "writers", 8, "connections that write at once")
	fl.DurationVar(&f.minLoad, "min-load", 50*time.Millisecond, "least time under load before a kill")
	fl.DurationVar(&f.maxLoad, "max-load", time.Second, "most time under load before a kill")
	fl.Float64Var(&f.early, "early-kills", 0.2, "share of restarts that are killed, too")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the random numbers")
	fl.StringArrayVar(&f.args, "node-flag", nil, "a flag for start-single-node; may be repeated")
	return c
}

func (f *killFlags) run(s *streams) (err error) {
	if f.kills < 1 || f.writers < 1 || f.minLoad < 0 || f.maxLoad < f.minLoad || f.early < 0 || f.early > 0.9 {
		return usageError{errors.New("give at least one kill and one writer, --max-load not below --min-load, --early-kills from 0 to 0.9")}
	}
	store := f.store
	if store == "" {
		if store, err = os.MkdirTemp("", "lichen-kill-*"); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	res, err := killtest.Run(ctx, killtest.Options{
		Start: func() (killtest.Server, error) { return startVictim(self, store, f.args) },
		Kills: f.kills, Writers: f.writers, MinLoad: f.minLoad, MaxLoad: f.maxLoad,
		EarlyKill: f.early, Seed: f.seed, Progress: s.err,
	})
	fmt.Fprintf(s.out, "kills: %d, and %d while restarting\n", res.Kills, res.EarlyKills)
	fmt.Fprintf(s.out, "acknowledged transactions: %d (%d repeated)\n", res.Acknowledged, res.Retries)
	fmt.Fprintf(s.out, "without an answer: %d, of them committed: %d\n", res.InDoubt, res.InDoubtPresent)
	fmt.Fprintf(s.out, "ledger rows: %d; slowest restart to first answer: %s\n", res.Rows, res.SlowestRestart.Round(time.Millisecond))
	if err != nil {
		fmt.Fprintf(s.out, "the store is in %s\n", store)
		return err
	}
	fmt.Fprintln(s.out, "every acknowledged transaction is there, none is half there")
	if f.store == "" && !f.keep {
		return os.RemoveAll(store)
	}
	return nil
}

// victim is a node in a process of its own.
type victim struct {
	cmd    *exec.Cmd
	listen chan struct{} // closed when the node serves or has ended
	url    string        // valid then; empty if it has ended
	said   bytes.Buffer  // standard error, valid then if it has ended
	ended  chan struct{}
	err    error // of the process, valid once it has ended
}

// startVictim starts a node. Its banner says where it listens.
func startVictim(self, store string, flags []string) (*victim, error) {
	args := append([]string{"start-single-node", "--insecure", "--store=" + store,
		"--listen-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"}, flags...)
	v := &victim{cmd: exec.Command(self, args...), listen: make(chan struct{}), ended: make(chan struct{})}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.cmd.Stderr = &v.said
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(v.ended)
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			if rest, ok := strings.CutPrefix(sc.Text(), "sql:"); ok && v.url == "" {
				v.url = strings.TrimSpace(rest)
				close(v.listen)
			}
		}
		v.err = v.cmd.Wait()
		if v.url == "" {
			close(v.listen)
		}
	}()
	return v, nil
}

// URL implements killtest.Server.
func (v *victim) URL() (string, error) {
	<-v.listen
	if v.url == "" {
		return "", fmt.Errorf("the node ended (%w): %s", v.err, strings.TrimSpace(v.said.String()))
	}
	return v.url, nil
}

// Kill implements killtest.Server.
func (v *victim) Kill() error {
	if err := v.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-v.ended
	return nil
}
