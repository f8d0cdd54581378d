package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// fileCopy is a \copy: a COPY from or to a file of the client.
type fileCopy struct {
	sql  string // the statement for the server, from STDIN or to STDOUT
	in   bool
	file string // empty: the shell's own input or output
}

var errCopySyntax = errors.New(`write \copy TABLE [(COLUMNS)] {FROM | TO} {'FILE' | STDIN | STDOUT} [WITH (OPTIONS)], or (QUERY) in place of the table`)

// parseFileCopy reads what follows \copy.
func parseFileCopy(arg string) (*fileCopy, error) {
	words := copyWords(arg)
	for i, w := range words {
		in := strings.EqualFold(w.text, "from")
		if i == 0 || !in && !strings.EqualFold(w.text, "to") {
			continue
		}
		if i+1 == len(words) {
			return nil, errCopySyntax
		}
		name := words[i+1]
		rest := arg[name.end:]
		c := &fileCopy{in: in}
		switch strings.ToLower(name.text) {
		case "stdin", "stdout", "pstdin", "pstdout":
		case "program":
			return nil, errors.New(`\copy with PROGRAM is not supported: run the program with \! and copy its file`)
		default:
			c.file = unquote(name.text)
		}
		place := " TO STDOUT"
		if in {
			place = " FROM STDIN"
		}
		c.sql = "COPY " + strings.TrimSpace(arg[:w.start]) + place + rest
		return c, nil
	}
	return nil, errCopySyntax
}

// copyWord is a word of a line, or the contents of a pair of parentheses or quotes.
type copyWord struct {
	text       string
	start, end int
}

// copyWords splits a line at white space outside of parentheses and quotes.
func copyWords(line string) (words []copyWord) {
	depth, quote, start := 0, byte(0), -1
	end := func(i int) {
		if start >= 0 {
			words = append(words, copyWord{line[start:i], start, i})
			start = -1
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case depth == 0 && (c == ' ' || c == '\t'):
			end(i)
			continue
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	end(len(line))
	return words
}

// unquote removes the quotes from the name of a file.
func unquote(name string) string {
	if len(name) >= 2 && name[0] == '\'' && name[len(name)-1] == '\'' {
		return strings.ReplaceAll(name[1:len(name)-1], "''", "'")
	}
	return name
}

// copyFile executes \copy.
func (sh *shell) copyFile(arg string) error {
	c, err := parseFileCopy(arg)
	switch {
	case err != nil:
		return err
	case c.file == "":
		return sh.statement(c.sql)
	case c.in:
		return sh.copyFromFile(c)
	}
	return sh.copyToFile(c)
}

func (sh *shell) copyFromFile(c *fileCopy) error {
	f, err := os.Open(c.file)
	if err != nil {
		return err
	}
	defer f.Close()
	sh.running.Store(sh.conn)
	defer sh.running.Store(nil)
	tag, err := sh.conn.CopyFrom(context.Background(), bufio.NewReaderSize(f, 64<<10), c.sql)
	if err == nil {
		fmt.Fprintln(sh.out, tag)
	}
	return err
}

func (sh *shell) copyToFile(c *fileCopy) (err error) {
	f, err := os.Create(c.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 64<<10)
	sh.running.Store(sh.conn)
	defer sh.running.Store(nil)
	tag, err := sh.conn.CopyTo(context.Background(), w, c.sql)
	if err = errors.Join(err, w.Flush()); err == nil {
		fmt.Fprintln(sh.out, tag)
	}
	return err
}

// screen returns the output for text that is no result.
func (sh *shell) screen() io.Writer {
	if sh.file != nil {
		return sh.terminal
	}
	return sh.out
}

// redirect makes the shell write results to a file, or with an empty name to the original output.
func (sh *shell) redirect(name string) error {
	if sh.file != nil {
		err := sh.file.Close()
		sh.file, sh.out = nil, sh.terminal
		if err != nil {
			return err
		}
	}
	if name == "" {
		return nil
	}
	f, err := os.Create(unquote(name))
	if err != nil {
		return err
	}
	sh.file, sh.terminal, sh.out = f, sh.out, io.Writer(f)
	return nil
}
