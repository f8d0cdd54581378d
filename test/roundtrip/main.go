package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// run is a run over many scripts.
type run struct {
	tools            *tools
	lichen, postgres *server // postgres is nil if there is none
	ways             []way
	known            map[string]int
	failures         int
	keep             bool // the databases
	pid              int  // part of their names
}

func main() {
	lichen := flag.String("lichen", "postgres://root@127.0.0.1:26257/defaultdb", "a Lichen node")
	postgres := flag.String("postgres", "", "a PostgreSQL 15, to restore in it too")
	dir := flag.String("scripts", "internal/sql/testdata/logic", "the directory of the logic scripts")
	only := flag.String("run", "", "scripts whose names match only")
	some := flag.String("ways", "", "ways to restore whose names match only")
	bin := flag.String("tools", "", "the directory of PostgreSQL's programs")
	keep := flag.Bool("keep", false, "leave the databases")
	limit := flag.Duration("time", 30*time.Minute, "begin no script after this time")
	flag.Parse()
	r := &run{tools: &tools{*bin}, known: map[string]int{}, keep: *keep, pid: os.Getpid()}
	r.lichen = &server{name: "Lichen", url: *lichen, tools: r.tools}
	if *postgres != "" {
		r.postgres = &server{name: "PostgreSQL", url: *postgres, tools: r.tools}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.all(ctx, *dir, *only, *some, time.Now().Add(*limit)); err != nil {
		fmt.Fprintln(os.Stderr, "roundtrip:", err)
		os.Exit(2)
	}
	if r.failures > 0 {
		os.Exit(1)
	}
}

// all runs the scripts of a directory.
func (r *run) all(ctx context.Context, dir, only, some string, until time.Time) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	matchWays, err := regexp.Compile(some)
	if err != nil {
		return err
	}
	r.ways = slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return !matchWays.MatchString(w.name) })
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.slt"))
	if err != nil {
		return err
	}
	if err := r.onServers(func(s *server) error { return s.sweep(ctx) }); err != nil {
		return err
	}
	scripts := 0
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".slt")
		if !match.MatchString(name) || time.Now().After(until) {
			continue
		}
		if err := r.script(ctx, f, fmt.Sprintf("roundtrip_%d_%s", r.pid, strings.ReplaceAll(name, "-", "_"))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		scripts++
	}
	fmt.Printf("%d of %d scripts, %d failures\n", scripts, len(files), r.failures)
	for name, n := range r.known {
		fmt.Printf("known: %s: %d\n", name, n)
	}
	return nil
}

// onServers does something on the servers that take part.
func (r *run) onServers(do func(*server) error) error {
	err := do(r.lichen)
	if r.postgres != nil {
		err = errors.Join(err, do(r.postgres))
	}
	return err
}

// script checks what a script makes: once with all of it that can stay, in all ways, and once
// as it ends.
func (r *run) script(ctx context.Context, path, name string) (err error) {
	statements, err := readScript(path)
	if err != nil {
		return err
	}
	defer func() {
		if !r.keep {
			err = errors.Join(err, r.onServers(func(s *server) error { return s.dropAll(ctx) }))
		}
	}()
	most := &round{run: r, name: name}
	if dumped, err := most.fill(ctx, withoutDrops(statements)); err != nil || !dumped {
		return err
	}
	if err := most.check(ctx, r.ways); err != nil {
		return err
	}
	last := &round{run: r, name: name + "_end"}
	if dumped, err := last.fill(ctx, withoutLastDrops(statements)); err != nil || !dumped || last.text == most.text {
		return err
	}
	return last.check(ctx, r.ways[:min(1, len(r.ways))])
}

// found reports what failed, unless it is known.
func (r *run) found(script, way, what string) {
	if isKnown(what, r.known) {
		return
	}
	r.failures++
	fmt.Printf("%s, %s: %s\n", script, way, strings.TrimRight(what, "\n"))
}
