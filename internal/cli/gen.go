package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

// newGen returns the commands that write files for other programs, and keys.
func newGen(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "gen",
		Short: "Write configurations of other programs, and keys",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newGenHAProxy(s), newGenKey(s))
	return c
}

type haproxyFlags struct {
	nodeFlags
	out, locality string
	port          int
}

func newGenHAProxy(s *streams) *cobra.Command {
	f := &haproxyFlags{}
	c := &cobra.Command{
		Use:   "haproxy",
		Short: "Write a configuration for the load balancer HAProxy",
		Long: "Write a configuration for the load balancer HAProxy: SQL connections go to the node with the fewest, among those\n" +
			"that are ready, which /health?ready=1 of each tells. Run it again when nodes have come or gone.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "haproxy.cfg", "file to write; - is standard output")
	fl.StringVar(&f.locality, "locality", "", "only nodes whose locality has these tiers: region=eu,zone=a")
	fl.IntVar(&f.port, "port", 26257, "port on which the load balancer listens")
	return c
}

// within reports whether a locality has all the tiers.
func within(locality, tiers string) bool {
	have := "," + locality + ","
	for tier := range strings.SplitSeq(tiers, ",") {
		if tier = strings.TrimSpace(tier); tier != "" && !strings.Contains(have, ","+tier+",") {
			return false
		}
	}
	return true
}

func (f *haproxyFlags) run(s *streams) error {
	all, err := f.listed(false)
	if err != nil {
		return err
	}
	encrypted, err := f.tls()
	if err != nil {
		return err
	}
	var nodes []node.NodeStatus
	for _, n := range all {
		if n.Membership == node.Active && n.SQLAddr != "" && within(n.Locality, f.locality) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return errors.New("no node has that locality")
	}
	var b strings.Builder
	writeHAProxy(&b, nodes, f.port, encrypted != nil)
	if f.out == "-" {
		_, err := io.WriteString(s.out, b.String())
		return err
	}
	return os.WriteFile(f.out, []byte(b.String()), 0o644)
}

func writeHAProxy(w io.Writer, nodes []node.NodeStatus, port int, secure bool) {
	fmt.Fprintf(w, `global
  maxconn 4096

defaults
    mode                tcp

    # How long clients and nodes may be silent. Idle sessions need more than the
    # usual minute; clitcpka and srvtcpka find connections that are dead.
    timeout connect     10s
    timeout client      10m
    timeout server      10m
    option              clitcpka
    option              srvtcpka

listen psql
    bind :%d
    mode tcp
    balance leastconn
    option httpchk GET /health?ready=1

    # A node that stops turns not ready and goes on serving for the cluster setting
    # server.shutdown.initial_wait, which must be longer than two checks.
    default-server inter 1s fall 2
`, port)
	// The load balancer only checks whether the node is ready: it needs no client certificate and does not
	// verify the node's.
	check := ""
	if secure {
		check = " check-ssl verify none"
	}
	for _, n := range nodes {
		fmt.Fprintf(w, "    server lichen%d %s check%s", n.ID, n.SQLAddr, check)
		if n.HTTPAddr != "" {
			fmt.Fprintf(w, " addr %s port %s", hostOf(n.HTTPAddr), portOf(n.HTTPAddr))
		}
		fmt.Fprintln(w)
	}
}
