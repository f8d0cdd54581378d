package cli

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// edit opens an editor on a file, or on what was entered or executed last, and then executes
// what it holds.
func (sh *shell) edit(name string) (err error) {
	path := unquote(name)
	if path == "" {
		if path, err = sh.draft(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(path)) }()
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	c := exec.Command("/bin/sh", "-c", editor+` "$1"`, "sh", path)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return err
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

// draft writes what was entered, or the last statement, to a new file.
func (sh *shell) draft() (path string, err error) {
	text := sh.scan.rest()
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
	return f.Name(), errors.Join(err, f.Close())
}
