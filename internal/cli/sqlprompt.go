package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
	"golang.org/x/term"
)

// historyFile is the name of the file in the home directory that keeps the history of the prompt.
const historyFile = ".lichen_sql_history"

// terminal reads the lines that a user types.
type terminal struct{ *liner.State }

func (t *terminal) readLine(prompt string) (string, error) { return t.Prompt(prompt) }

// prompt is the interactive loop.
func (sh *shell) prompt() error {
	sh.found, _ = term.GetState(int(os.Stdin.Fd())) // nil: programs run as they find it
	t := &terminal{liner.NewLiner()}
	defer t.Close()
	t.SetCtrlCAborts(true)
	t.SetMultiLineMode(true)
	loadHistory(t.State)
	defer saveHistory(t.State, sh.err)
	sh.input = t
	var entered []string
	for {
		line, err := t.readLine(sh.promptText())
		switch {
		case errors.Is(err, io.EOF) && sh.scan.blank():
			fmt.Fprintln(sh.out)
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, liner.ErrPromptAborted):
			sh.scan = statementScanner{}
			entered = nil
			continue
		case err != nil:
			return err
		}
		if strings.TrimSpace(line) != "" {
			entered = append(entered, line)
		}
		err = sh.line(shortcut(line, sh.scan.blank()))
		if sh.scan.blank() {
			remember(t.State, entered)
			entered = nil
		}
		switch {
		case errors.Is(err, errQuit):
			return nil
		case errors.Is(err, errShown):
			return exitCode(1)
		case err != nil:
			return err
		}
	}
}

// shortcut returns the backslash command for exit, quit or help where a statement would begin, and any other
// line as it is.
func shortcut(line string, fresh bool) string {
	if fresh {
		switch strings.ToLower(strings.TrimRight(strings.TrimSpace(line), ";")) {
		case "quit", "exit":
			return `\q`
		case "help":
			return `\?`
		}
	}
	return line
}

// promptText returns the prompt. It names the user, the server and the database, and shows an open
// transaction or an unfinished statement.
func (sh *shell) promptText() string {
	name := fmt.Sprintf("%s@%s:%d/%s", sh.cfg.User, filepath.Base(sh.cfg.Host), sh.cfg.Port, sh.cfg.Database)
	if !sh.scan.blank() {
		mark := "->"
		switch {
		case sh.scan.block > 0:
			mark = "*>"
		case sh.scan.quote != 0:
			mark = string(sh.scan.quote) + ">"
		case sh.scan.parens > 0:
			mark = "(>"
		}
		return strings.Repeat(" ", max(len(name)-1, 0)) + mark + " "
	}
	state := ""
	switch sh.conn.TxStatus() {
	case 'T':
		state = " OPEN"
	case 'E':
		state = " ERROR"
	}
	return name + state + "> "
}

// remember adds a statement to the history, as one line if that does not change its meaning.
func remember(l *liner.State, lines []string) {
	joined := strings.Join(lines, " ")
	if strings.Contains(joined, "--") || strings.Contains(joined, "'") {
		for _, line := range lines {
			l.AppendHistory(line)
		}
		return
	}
	if joined != "" {
		l.AppendHistory(joined)
	}
}

func historyPath() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, historyFile)
}

func loadHistory(l *liner.State) {
	f, err := os.Open(historyPath())
	if err != nil {
		return // there is none yet
	}
	defer f.Close()
	// A damaged history is no reason not to start.
	_, _ = l.ReadHistory(f)
}

func saveHistory(l *liner.State, errOut io.Writer) {
	path := historyPath()
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = l.WriteHistory(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintf(errOut, "cannot save the history: %v\n", err)
	}
}
