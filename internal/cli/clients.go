package cli

import "github.com/spf13/cobra"

// urlVar names the environment variable with the server that clients connect to,
// and defaultURL is that server without it; defaultDatabase is that of a URL without one.
const (
	defaultDatabase = "defaultdb"
	urlVar          = "LICHEN_URL"
	defaultURL      = "postgresql://root@localhost:26257/defaultdb?sslmode=disable"
)

// clientCommands are the commands that talk to a running node.
func clientCommands(s *streams) []*cobra.Command {
	return []*cobra.Command{newSQL(s), newDemo(s), newWorkload(s), newCert(s), newNode(s), newCluster(s), newGen(s), newDebug(s)}
}
