package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"
)

// edit opens an editor on a file, or on the query buffer or the last statement, and executes the text if
// the editor has written it. Otherwise the query buffer stays.
func (sh *shell) edit(name string) (err error) {
	path, entered := unquote(name), false
	if path == "" {
		entered = !sh.scan.blank()
		if path, err = sh.draft(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(path)) }()
	}
	before := writtenAt(path)
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	c := exec.Command("/bin/sh", "-c", editor+` "$1"`, "sh", path)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := sh.runProgram(c); err != nil {
		return fmt.Errorf("the editor %q: %w; the environment variable EDITOR names another", editor, err)
	}
	if writtenAt(path).Equal(before) {
		if !entered {
			sh.scan = statementScanner{}
		}
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sh.scan = statementScanner{}
	for line := range strings.Lines(string(text)) {
		if err := sh.line(strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

// writtenAt returns the modification time of a file; zero if it does not exist.
func writtenAt(path string) time.Time {
	if st, err := os.Stat(path); err == nil {
		return st.ModTime()
	}
	return time.Time{}
}

// draftAge is subtracted from the time of a draft, so that an editor that saves it at once changes the time
// even on a file system with coarse timestamps (psql: 2 s).
const draftAge = 2 * time.Second

// draft writes the query buffer, or the last statement, to a new file.
func (sh *shell) draft() (path string, err error) {
	text := strings.TrimSpace(sh.scan.text.String())
	if text == "" {
		text = sh.last
	}
	if text != "" {
		text = strings.TrimSuffix(text, ";") + ";\n"
	}
	f, err := os.CreateTemp("", "lichen-*.sql")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	old := time.Now().Add(-draftAge)
	return f.Name(), errors.Join(err, f.Close(), os.Chtimes(f.Name(), old, old))
}

// runProgram runs a program with the terminal in its original mode: the prompt turns line mode and echo
// off.
func (sh *shell) runProgram(c *exec.Cmd) error {
	if sh.found == nil {
		return c.Run()
	}
	in := int(os.Stdin.Fd())
	ours, err := term.GetState(in)
	if err != nil {
		return c.Run() // the terminal is gone
	}
	if err := term.Restore(in, sh.found); err != nil {
		return err
	}
	return errors.Join(c.Run(), term.Restore(in, ours))
}
