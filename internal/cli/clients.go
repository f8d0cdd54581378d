package cli

import "github.com/spf13/cobra"

// urlVar is the environment variable with the URL of the server; defaultURL is the URL without it.
// defaultDatabase is the database of a URL that has none.
const (
	defaultDatabase = "defaultdb"
	urlVar          = "LICHEN_URL"
	defaultURL      = "postgresql://root@localhost:26257/defaultdb?sslmode=disable"
)

// clientCommands are the commands that talk to a running node.
func clientCommands(s *streams) []*cobra.Command {
	return append(apiCommands(s), newSQL(s), newDemo(s), newWorkload(s), newCert(s), newNode(s), newCluster(s), newGen(s), newDebug(s))
}
