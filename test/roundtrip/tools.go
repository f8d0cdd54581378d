package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxTool bounds a run of one of PostgreSQL's programs.
const maxTool = time.Minute

// tools runs PostgreSQL's programs.
type tools struct {
	dir string // of the programs; "": they are on the path
}

// run runs a program with an input and returns its output. An error tells what the program
// said.
func (t *tools) run(ctx context.Context, input, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTool)
	defer cancel()
	if t.dir != "" {
		program = filepath.Join(t.dir, program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", program, err, said.String())
	}
	return out.String(), nil
}

// psql runs statements; with stop, up to the first that fails.
func (t *tools) psql(ctx context.Context, db, text string, stop bool) (string, error) {
	args := []string{"-X", "-q", "-At", "-d", db}
	if stop {
		args = append(args, "-v", "ON_ERROR_STOP=1")
	}
	return t.run(ctx, text, "psql", args...)
}

// dump is what pg_dump writes of a database.
func (t *tools) dump(ctx context.Context, db string, options ...string) (string, error) {
	return t.run(ctx, "", "pg_dump", append(options, "-d", db)...)
}

// server is a cluster with databases for the run.
type server struct {
	name  string
	url   string // of a database that exists
	tools *tools
	made  []string
}

// database is the address of a database of the server.
func (s *server) database(name string) (string, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// create makes an empty database and returns its address.
func (s *server) create(ctx context.Context, name string) (string, error) {
	s.made = append(s.made, name) // before it is there: a server may end what its client has given up
	if _, err := s.tools.psql(ctx, s.url, "CREATE DATABASE "+name+" TEMPLATE template0", true); err != nil {
		return "", err
	}
	return s.database(name)
}

// dropAll drops the databases that create has made, also when the run is being interrupted.
func (s *server) dropAll(ctx context.Context) error {
	err := s.drop(context.WithoutCancel(ctx), s.made)
	s.made = nil
	return err
}

// drop drops databases that may be there, with the sessions that a killed program left in them.
func (s *server) drop(ctx context.Context, names []string) error {
	var failed []error
	for _, name := range names {
		_, err := s.tools.psql(ctx, s.url, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", true)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// sweep drops what runs of this machine left that were killed before they could.
func (s *server) sweep(ctx context.Context) error {
	out, err := s.tools.psql(ctx, s.url, "SELECT datname FROM pg_database WHERE datname ~ '^roundtrip_[0-9]+_'", true)
	if err != nil {
		return err
	}
	return s.drop(ctx, slices.DeleteFunc(strings.Fields(out), belongsToRun))
}

// belongsToRun reports whether the run that made a database is still there.
func belongsToRun(database string) bool {
	pid, err := strconv.Atoi(strings.Split(database, "_")[1])
	return err == nil && syscall.Kill(pid, 0) != syscall.ESRCH
}
