package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// round is a database that is dumped and restored in several ways.
type round struct {
	run  *run
	name string // of the databases
	from string // the address of the one that is dumped
	text string // the script that pg_dump wrote of it
}

// fill makes the database of a round by statements, some of which may fail, and reports
// whether it could be dumped.
func (r *round) fill(ctx context.Context, statements []string) (dumped bool, err error) {
	if r.from, err = r.run.lichen.create(ctx, r.name); err != nil {
		return false, err
	}
	if _, err := r.run.tools.psql(ctx, r.from, strings.Join(statements, "\n;\n")+"\n;\nROLLBACK;\n", false); err != nil {
		return false, err
	}
	if r.text, err = r.run.tools.dump(ctx, r.from); err != nil {
		r.run.found(r.name, "pg_dump", err.Error())
		return false, ctx.Err()
	}
	return true, nil
}

// way restores a dump in an empty database at the given address.
type way struct {
	name    string
	restore func(ctx context.Context, r *round, to string) error
}

// ways are those that must bring back everything.
var ways = []way{
	{"script", func(ctx context.Context, r *round, to string) error { return r.load(ctx, to, r.text) }},
	{"schema, then INSERTs", insertsWith("--inserts")},
	{"schema, then INSERTs of columns", insertsWith("--column-inserts")},
	{"archive", archive},
	{"clean", clean},
}

// load runs a dump, of which every statement must succeed.
func (r *round) load(ctx context.Context, to, dump string) error {
	_, err := r.run.tools.psql(ctx, to, dump, true)
	return err
}

func insertsWith(option string) func(context.Context, *round, string) error {
	return func(ctx context.Context, r *round, to string) error {
		for _, options := range [][]string{{"--section=pre-data"}, {"-a", option}, {"--section=post-data"}} {
			dump, err := r.run.tools.dump(ctx, r.from, options...)
			if err == nil {
				err = r.load(ctx, to, dump)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func archive(ctx context.Context, r *round, to string) error {
	dir, err := os.MkdirTemp("", "roundtrip")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "archive")
	if _, err := r.run.tools.dump(ctx, r.from, "-Fc", "-f", file); err != nil {
		return err
	}
	_, err = r.run.tools.run(ctx, "", "pg_restore", "-e", "-j2", "-d", to, file)
	return err
}

// clean restores over what has been restored already.
func clean(ctx context.Context, r *round, to string) error {
	dump, err := r.run.tools.dump(ctx, r.from, "--clean", "--if-exists")
	if err != nil {
		return err
	}
	if err := r.load(ctx, to, r.text); err != nil {
		return err
	}
	return r.load(ctx, to, dump)
}

// check restores the dump in all ways, and in PostgreSQL.
func (r *round) check(ctx context.Context, ways []way) error {
	for i, w := range ways {
		to, err := r.run.lichen.create(ctx, fmt.Sprintf("%s_%d", r.name, i))
		if err != nil {
			return err
		}
		if err := w.restore(ctx, r, to); err != nil {
			r.run.found(r.name, w.name, err.Error())
			continue
		}
		again, err := r.run.tools.dump(ctx, to)
		if err != nil {
			r.run.found(r.name, w.name, err.Error())
			continue
		}
		if list := unknown(compare(r.text, again, false), r.run.known); len(list) > 0 {
			r.run.found(r.name, w.name, "another dump:\n"+show(list))
		}
	}
	if r.run.postgres == nil {
		return nil
	}
	return r.checkPostgres(ctx)
}

// checkPostgres restores the dump in PostgreSQL, whose dump is to be the same.
func (r *round) checkPostgres(ctx context.Context) error {
	to, err := r.run.postgres.create(ctx, r.name)
	if err != nil {
		return err
	}
	dump, err := r.run.tools.dump(ctx, r.from, "-O", "-x")
	if err != nil {
		return err
	}
	if err := r.load(ctx, to, dump); err != nil {
		r.run.found(r.name, "in PostgreSQL", err.Error())
		return nil
	}
	theirs, err := r.run.tools.dump(ctx, to, "-O", "-x")
	if err != nil {
		return err
	}
	if list := unknown(compare(dump, theirs, true), r.run.known); len(list) > 0 {
		r.run.found(r.name, "in PostgreSQL", "another dump:\n"+show(list))
	}
	return nil
}
