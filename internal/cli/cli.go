package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is an error in how a command was called.
type usageError struct{ error }

// streams are the input and the outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs the program and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	s := &streams{in, out, errOut}
	root := newRoot(s)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(errOut, "ERROR: %s\n", strings.TrimPrefix(err.Error(), "ERROR: ")) // an error of a server has the prefix already
	var usage usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// exitCode ends a command that has printed its error already.
type exitCode int

// Error implements error.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "lichen",
		Short:         "Lichen is a distributed SQL database: PostgreSQL to its clients.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\nRun '%s --help' for its flags", err, c.CommandPath())}
	})
	root.AddCommand(newStart(s), newStartSingleNode(s), newStop(s), newInit(s), newTorture(s), newVersion(s))
	root.AddCommand(clientCommands(s)...)
	return root
}
