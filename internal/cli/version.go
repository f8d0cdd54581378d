package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

func newVersion(s *streams) *cobra.Command {
	var tagOnly bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if tagOnly {
				fmt.Fprintln(s.out, node.Version)
				return nil
			}
			fmt.Fprint(s.out, versionText())
			return nil
		},
	}
	c.Flags().BoolVar(&tagOnly, "build-tag", false, "print only the version's name")
	return c
}

// versionText returns the version, the commit and the platform of the build.
func versionText() string {
	return fmt.Sprintf("Version:   %s\nCommit:    %s\nPlatform:  %s %s\nGo:        %s\n",
		node.Version, commit(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// builtFrom is the commit of the build, with a + if files had changed. The Makefile sets it by the linker;
// otherwise commit uses the revision that Go has recorded.
var builtFrom string

// commit is the revision the program was built from.
func commit() string {
	if rev, dirty := strings.CutSuffix(builtFrom, "+"); rev != "" {
		if dirty {
			rev += " (modified)"
		}
		return rev
	}
	rev, dirty := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				rev = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " (modified)"
			}
		}
	}
	return rev + dirty
}
