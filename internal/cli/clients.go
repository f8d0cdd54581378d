package cli

import "github.com/spf13/cobra"

// clientCommands are the commands that talk to a running node.
func clientCommands(*streams) []*cobra.Command { return nil }
