package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/term"
)

// connectTimeout bounds how long the shell waits for a connection.
const connectTimeout = 15 * time.Second

// maxIncludes bounds how deep \i may nest.
const maxIncludes = 32

// errQuit ends the shell at the request of the user.
var errQuit = errors.New("quit")

// errShown is an error that has been printed already.
var errShown = errors.New("shown")

// shell executes statements and its own commands from lines of text.
type shell struct {
	*streams
	cfg         *pgconn.Config
	conn        *pgconn.PgConn
	scan        statementScanner
	input       lineReader
	interactive bool
	includes    int

	format   string
	expanded bool
	timing   bool
	errexit  bool
	verbose  bool
	echo     bool
	last     string // the last statement, for \g
	demo     func(arg string) error

	file     *os.File  // \o's, nil: none
	terminal io.Writer // where results go without file

	// found is the original mode of the terminal; nil without a prompt.
	found *term.State

	// running is the connection while a statement runs on it, for interrupts.
	running atomic.Pointer[pgconn.PgConn]
	// endWatch ends the wait of \watch; nil while there is none.
	endWatch atomic.Pointer[context.CancelFunc]
}

// lineReader returns the lines of the input without line ends, and io.EOF after the last one.
type lineReader interface {
	readLine(prompt string) (string, error)
}

// textLines reads lines from a file or a pipe.
type textLines struct{ r *bufio.Reader }

func (t *textLines) readLine(string) (string, error) {
	line, err := t.r.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}

func newTextLines(r io.Reader) *textLines { return &textLines{bufio.NewReaderSize(r, 64<<10)} }

// isTerminal reports whether a stream of this process is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// runShell connects and executes the statements of the flags or of the standard input. welcome, unless
// nil, is printed before the first prompt.
func runShell(s *streams, cfg *pgconn.Config, f *shellFlags, welcome func(io.Writer)) (err error) {
	own := *s // \o changes where results go
	sh := &shell{streams: &own, cfg: cfg, format: f.format, echo: f.echo, demo: f.demo}
	sh.interactive = len(f.execute) == 0 && f.file == "" && isTerminal(s.in) && isTerminal(s.out)
	sh.errexit = !sh.interactive
	for _, o := range f.sets {
		if err := sh.set(o); err != nil {
			return usageError{err}
		}
	}
	if err := sh.connect(); err != nil {
		return err
	}
	defer func() { sh.conn.Close(context.Background()) }()
	defer func() { err = errors.Join(err, sh.redirect("")) }()
	defer sh.cancelOnInterrupt()()
	if sh.interactive {
		if welcome != nil {
			welcome(s.out)
		}
		return sh.prompt()
	}
	err = sh.batch(f)
	if errors.Is(err, errQuit) {
		err = nil
	}
	if errors.Is(err, errShown) {
		return exitCode(1)
	}
	return err
}

// batch executes the statements of the flags or of an input that is no terminal.
func (sh *shell) batch(f *shellFlags) error {
	switch {
	case len(f.execute) > 0:
		for _, text := range f.execute {
			sh.input = newTextLines(strings.NewReader(text))
			if err := sh.lines(); err != nil {
				return err
			}
		}
		return nil
	case f.file != "" && f.file != "-":
		file, err := os.Open(f.file)
		if err != nil {
			return err
		}
		defer file.Close()
		sh.input = newTextLines(file)
	default:
		sh.input = newTextLines(sh.in)
	}
	return sh.lines()
}

// connect opens a connection by sh.cfg, in place of the present one.
func (sh *shell) connect() error {
	cfg := sh.cfg.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { printNotice(sh.err, n, sh.verbose) }
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return connectError(cfg, err)
	}
	if sh.conn != nil {
		sh.conn.Close(ctx)
	}
	sh.conn = conn
	return nil
}

// rootCause returns the innermost error.
func rootCause(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			if len(all) == 0 {
				return err
			}
			err = all[0]
		default:
			next := errors.Unwrap(err)
			if next == nil {
				return err
			}
			err = next
		}
	}
}

// interruptedCode is the exit code after an interrupt.
const interruptedCode = 130

// cancelOnInterrupt makes an interrupt cancel the running statement instead of the shell. Without a prompt the
// error of the statement then ends the shell, and so does an interrupt while no statement runs.
func (sh *shell) cancelOnInterrupt() (stop func()) {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, os.Interrupt)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-sig:
				end, conn := sh.endWatch.Load(), sh.running.Load()
				if end != nil {
					(*end)()
				}
				if conn == nil {
					if !sh.interactive && end == nil {
						os.Exit(interruptedCode)
					}
					continue
				}
				ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
				if err := conn.CancelRequest(ctx); err != nil {
					fmt.Fprintf(sh.err, "cannot cancel: %v\n", err)
				}
				cancel()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(sig); close(done) }
}

// lines executes the input to its end.
func (sh *shell) lines() error {
	for {
		line, err := sh.input.readLine("")
		if errors.Is(err, io.EOF) {
			return sh.finishInput()
		}
		if err != nil {
			return err
		}
		if err := sh.line(line); err != nil {
			return err
		}
	}
}

// finishInput executes a last statement without a semicolon.
func (sh *shell) finishInput() error {
	open := sh.scan.quote != 0 || sh.scan.block > 0
	sql := sh.scan.rest()
	if sql == "" || open && strings.HasPrefix(sql, "/*") {
		return nil
	}
	return sh.statement(sql)
}

// line executes the statements and commands that a line completes.
func (sh *shell) line(line string) error {
	if sh.conn != nil {
		sh.scan.escapes = sh.conn.ParameterStatus("standard_conforming_strings") == "off"
	}
	for _, s := range sh.scan.line(line) {
		var err error
		if s.command != "" {
			err = sh.command(s.command)
		} else {
			err = sh.statement(s.sql)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// report prints an error. It returns an error if the shell has to end.
func (sh *shell) report(err error, sql string) error {
	printError(sh.err, err, sql, sh.verbose)
	if sh.errexit {
		return errShown
	}
	return nil
}

var (
	copyIn  = regexp.MustCompile(`(?is)^\s*copy\s.*\bfrom\s+stdin\b`)
	copyOut = regexp.MustCompile(`(?is)^\s*copy\s.*\bto\s+stdout\b`)
)

// statement sends a statement to the server and prints the result. It returns an error if the
// shell has to end.
func (sh *shell) statement(sql string) error {
	_, err := sh.execute(sql)
	return err
}

// execute is statement; ok reports whether the server executed the statement without an error.
func (sh *shell) execute(sql string) (ok bool, err error) {
	sh.last = sql
	if sh.echo {
		fmt.Fprintln(sh.out, sql)
	}
	begun := time.Now()
	sh.running.Store(sh.conn)
	switch {
	case copyIn.MatchString(sql):
		err = sh.copyIn(sql)
	case copyOut.MatchString(sql):
		err = sh.copyOut(sql)
	default:
		err = sh.query(sql)
	}
	sh.running.Store(nil)
	took := time.Since(begun)
	if ok = err == nil; !ok {
		if err := sh.report(err, sql); err != nil {
			return false, err
		}
		if err := sh.reconnect(); err != nil {
			return false, err
		}
	}
	if sh.timing {
		fmt.Fprintf(sh.screen(), "Time: %.3f ms\n", float64(took.Microseconds())/1000)
	}
	return ok, nil
}

// reconnect opens a new connection if the server ended the old one.
func (sh *shell) reconnect() error {
	if !sh.conn.IsClosed() {
		return nil
	}
	if err := sh.connect(); err != nil {
		return err
	}
	fmt.Fprintln(sh.err, "The connection was lost. There is a new one; settings and transactions of the old one are gone.")
	return nil
}

func (sh *shell) query(sql string) error {
	mrr := sh.conn.Exec(context.Background(), sql)
	for mrr.NextResult() {
		rr := mrr.ResultReader()
		cols := rr.FieldDescriptions()
		if cols == nil {
			tag, err := rr.Close()
			if err == nil && tag.String() != "" && (sh.format == "table" || sh.format == "records" || sh.interactive) {
				fmt.Fprintln(sh.out, tag)
			}
			continue
		}
		p := newRowPrinter(sh.effectiveFormat(), sh.out, cols)
		for rr.NextRow() {
			p.row(rr.Values())
		}
		// The rows before an error are not the result.
		if _, err := rr.Close(); err != nil && (sh.format == "table" || sh.format == "records") {
			continue
		}
		if err := p.end(); err != nil {
			return errors.Join(err, mrr.Close())
		}
	}
	return mrr.Close()
}

func (sh *shell) effectiveFormat() string {
	if sh.expanded && sh.format == "table" {
		return "records"
	}
	return sh.format
}

func (sh *shell) copyOut(sql string) error {
	w := bufio.NewWriter(sh.out)
	tag, err := sh.conn.CopyTo(context.Background(), w, sql)
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	if err == nil && sh.interactive {
		fmt.Fprintln(sh.out, tag)
	}
	return err
}

// copyIn sends the lines up to \. or the end of the input.
func (sh *shell) copyIn(sql string) error {
	if sh.interactive {
		fmt.Fprintln(sh.out, `Enter data followed by a line with \. or an end of input (ctrl-d).`)
	}
	tag, err := sh.conn.CopyFrom(context.Background(), &copyLines{sh: sh}, sql)
	if err == nil && (sh.format == "table" || sh.format == "records" || sh.interactive) {
		fmt.Fprintln(sh.out, tag)
	}
	return err
}

// copyLines reads the data of a COPY from the shell's input.
type copyLines struct {
	sh   *shell
	rest []byte
	done bool
}

// Read implements io.Reader.
func (c *copyLines) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.done {
			return 0, io.EOF
		}
		line, err := c.sh.input.readLine(">> ")
		if errors.Is(err, io.EOF) || err == nil && line == `\.` {
			c.done = true
			continue
		}
		if err != nil {
			return 0, err
		}
		c.rest = append([]byte(line), '\n')
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// set sets an option of the shell.
func (sh *shell) set(assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		name, value, ok = strings.Cut(assignment, " ")
	}
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	on := !ok || slices.Contains([]string{"true", "on", "1", "yes"}, strings.ToLower(value))
	switch name {
	case "errexit", "on_error_stop":
		sh.errexit = on
	case "display_format", "format":
		if !slices.Contains(formats, value) {
			return fmt.Errorf("display_format: %q is none of %s", value, strings.Join(formats, ", "))
		}
		sh.format = value
	case "show_times", "timing":
		sh.timing = on
	case "expanded":
		sh.expanded = on
	case "echo":
		sh.echo = on
	case "verbosity":
		sh.verbose = strings.EqualFold(value, "verbose")
	default:
		return fmt.Errorf("unknown option %q", name)
	}
	return nil
}
