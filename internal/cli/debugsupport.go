package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/server"
	"github.com/lichendb/lichen/internal/sql/support"
	"github.com/spf13/cobra"
)

func newSQLSupport(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "sql-support",
		Short: "Write the page of what SQL there is (docs/sql-support.md)",
		Long:  "Try forms of statements and types on a node in memory, and write what works, with the lists of operators,\nfunctions and parameters: the page docs/sql-support.md.",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return writeSupport(c.Context(), s) },
	}
}

// writeSupport tries the statements on a node in memory and writes the page of what is supported.
func writeSupport(ctx context.Context, s *streams) (err error) {
	cfg := config.Default()
	cfg.Stores, cfg.Insecure, cfg.SingleNode, cfg.Drain = config.Dirs("store"), true, true, 0
	cfg.ListenAddr, cfg.HTTPAddr, cfg.CacheBytes = "127.0.0.1:0", "127.0.0.1:0", 16<<20
	n, err := server.New(cfg, server.Options{FS: fs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := n.Start(ctx); err != nil {
		return err
	}
	defer func() {
		if e := n.Stop(ctx); err == nil {
			err = e
		}
	}()
	r := &supportRunner{}
	url := fmt.Sprintf("postgresql://root@%s/defaultdb?sslmode=disable", n.Addr())
	if err := r.connect(ctx, url); err != nil {
		return err
	}
	if _, err := r.Run(ctx, "CREATE DATABASE support"); err != nil {
		return err
	}
	if err := r.conn.Close(ctx); err != nil {
		return err
	}
	if err := r.connect(ctx, fmt.Sprintf("postgresql://root@%s/support?sslmode=disable", n.Addr())); err != nil {
		return err
	}
	defer r.conn.Close(ctx)
	return support.Write(ctx, s.out, r)
}

// supportRunner is a connection that collects notices.
type supportRunner struct {
	conn    *pgconn.PgConn
	notices []string
}

func (r *supportRunner) connect(ctx context.Context, url string) error {
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { r.notices = append(r.notices, n.Message) }
	r.conn, err = pgconn.ConnectConfig(ctx, cfg)
	return err
}

// Run implements support.Runner.
func (r *supportRunner) Run(ctx context.Context, statement string) (notices []string, err error) {
	r.notices = nil
	_, err = r.conn.Exec(ctx, statement).ReadAll()
	return r.notices, err
}
