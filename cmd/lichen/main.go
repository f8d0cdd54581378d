// Command lichen is the Lichen distributed SQL database: server, client and
// tools in one program.
package main

import (
	"os"

	"github.com/lichendb/lichen/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
