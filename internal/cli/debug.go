package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/pgwire/nullserver"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/spf13/cobra"
)

// newDebug returns the commands for the development and verification of the database.
func newDebug(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "debug",
		Short: "Collect what support needs, verify and measure the database itself",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newNullServer(s), newKillTest(s), newDebugZip(s), newDebugCheck(s), newDebugIndexes(s), newSQLSupport(s), newEncryptionStatus(s), newEncryptionRewrite(s))
	return c
}

type nullFlags struct {
	listenAddr, logDir string
	logBytes           int
}

func newNullServer(s *streams) *cobra.Command {
	f := &nullFlags{}
	c := &cobra.Command{
		Use:   "null-server",
		Short: "Answer the PostgreSQL protocol without a database",
		Long: "Answer every statement with a canned reply: the yardstick of the ratios R and W. With --log-dir the reply\n" +
			"to a statement that writes first waits for a group-committed append to a log there.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	fl := c.Flags()
	fl.StringVar(&f.listenAddr, "listen-addr", "127.0.0.1:0", "address for SQL clients, host:port")
	fl.StringVar(&f.logDir, "log-dir", "", "directory of the log; without it nothing is written")
	fl.IntVar(&f.logBytes, "log-bytes", 256, "bytes appended for a statement, at least those of its parameters")
	return c
}

func (f *nullFlags) run(s *streams) error {
	srv := &nullserver.Server{}
	if f.logDir != "" {
		log, err := raftlog.Open(raftlog.Options{FS: fs.Disk(), Dir: f.logDir, OnFatal: func(err error) {
			fmt.Fprintf(s.err, "ERROR: the log failed: %v\n", err)
			os.Exit(1)
		}})
		if err != nil {
			return err
		}
		defer log.Close()
		w := &nullLog{log: log, bytes: f.logBytes}
		srv.BeforeReply = w.append
	}
	ln, err := net.Listen("tcp", f.listenAddr)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "sql: postgresql://root@%s/defaultdb?sslmode=disable\n", ln.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		ln.Close()
		srv.Close()
	}()
	if err := srv.Serve(ln); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// nullLog appends the entries of statements to a log. Each append has a group of the log to itself, so that
// concurrent appends share a sync and do not wait for each other.
type nullLog struct {
	log   *raftlog.Log
	bytes int
	free  freeGroups
}

func (n *nullLog) append(query string, body []byte) error {
	switch word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n"), " "); strings.ToUpper(strings.TrimRight(word, ";")) {
	case "INSERT", "UPDATE", "DELETE":
	default:
		return nil
	}
	data := make([]byte, max(len(body), n.bytes))
	copy(data, body)
	g := n.free.take()
	defer n.free.put(g)
	g.last++
	err := n.log.Append([]raftlog.Write{{
		Group: g.id, Replica: 1, Entries: []raftlog.Entry{{Index: g.last, Term: 1, Data: data}},
	}})
	if err == nil && g.last%truncateEvery == 0 {
		err = n.log.Truncate(g.id, g.last, 1)
	}
	return err
}
