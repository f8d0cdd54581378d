package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/server"
)

// demoUser is as whom other clients and browsers log in at a demonstration: a member of admin, with a password.
const demoUser = "demo"

// secure makes the certificates of a demonstration, in a directory that goes with it, and a password.
func (d *demoCluster) secure(host string) error {
	dir, err := os.MkdirTemp("", "lichen-demo-")
	if err != nil {
		return err
	}
	d.certs, d.password = dir, rand.Text()
	if err := security.MakeOwn(dir, host); err != nil {
		return fmt.Errorf("certificates of the demonstration: %w", err)
	}
	return nil
}

// createUser makes demoUser, unless the demonstration is open to all.
func (d *demoCluster) createUser(ctx context.Context, cfg *pgconn.Config) error {
	if d.certs == "" {
		return nil
	}
	c, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "CREATE ROLE "+demoUser+" LOGIN PASSWORD '"+d.password+"'; GRANT admin TO "+demoUser).ReadAll()
	return err
}

// rootURL is the URL of the prompt.
func (d *demoCluster) rootURL(n *server.Node) string { return sqlURL(demoAddress(n.Addr()), d.certs) }

// userURL is the URL for other clients, which need nothing else.
func (d *demoCluster) userURL(n *server.Node) string { return d.clientURL(demoAddress(n.Addr())) }

func (d *demoCluster) clientURL(addr string) string {
	if d.certs == "" {
		return sqlURL(addr, "")
	}
	u := url.URL{Scheme: "postgresql", User: url.UserPassword(demoUser, d.password), Host: addr, Path: "defaultdb", RawQuery: "sslmode=require"}
	return u.String()
}

func (d *demoCluster) httpURL(n *server.Node) string { return d.scheme() + demoAddress(n.HTTPAddr()) }

func (d *demoCluster) scheme() string {
	if d.certs == "" {
		return "http://"
	}
	return "https://"
}
