package support

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

//go:embed postgresql.txt
var postgresql string

// listed returns the names that postgresql.txt has of a kind.
func listed(kind string) (names []string) {
	for line := range strings.Lines(postgresql) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), kind+" "); ok {
			names = append(names, name)
		}
	}
	return names
}

// writeTypes tries a column of each type.
func writeTypes(ctx context.Context, b *bufio.Writer, r Runner) error {
	b.WriteString("\n## Types\n\nAnd arrays of them; enums, domains, composite types. `STRING`, `BYTES` and `INT64` are names of `text`, `bytea` and `bigint`.\n\n" +
		"| type | works |\n|---|---|\n")
	for _, name := range typeNames() {
		works, _, err := outcome(ctx, r, "CREATE TABLE of_type (x "+name+")", false)
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == string(pgerr.UndefinedObject) {
			works, err = "no", nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(name), works)
	}
	return nil
}

// typeNames are PostgreSQL's types and those that only the registry has.
func typeNames() []string {
	names := listed("type")
	for _, t := range types.All() {
		if t.Elem == nil && !slices.Contains(names, t.SQLName) && types.InfoOf(t).Kind != 'p' {
			names = append(names, t.SQLName)
		}
	}
	slices.Sort(names)
	return names
}

// signature is a call as it is written: the names of the arguments' types, the result.
func signature(o *call.Overload) string {
	args := make([]string, len(o.Args))
	for i, a := range o.Args {
		args[i] = a.Name
		if o.Variadic && i == len(o.Args)-1 {
			args[i] = "variadic " + args[i]
		}
	}
	ret := "record"
	if o.Ret != nil {
		ret = o.Ret.Name
	}
	if o.IsSRF() {
		ret = "setof " + ret
	}
	switch {
	case !o.Operator:
		return "(" + strings.Join(args, ", ") + ") " + ret
	case len(args) == 1:
		return o.Name + " " + args[0] + " → " + ret
	}
	return args[0] + " " + o.Name + " " + args[1] + " → " + ret
}

// writeGroup writes a row for each name with all signatures of it.
func writeGroup(b *bufio.Writer, overloads []*call.Overload) {
	by := map[string][]string{}
	for _, o := range overloads {
		if s := signature(o); !slices.Contains(by[o.Name], s) {
			by[o.Name] = append(by[o.Name], s)
		}
	}
	names := make([]string, 0, len(by))
	for n := range by {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		slices.Sort(by[n])
		fmt.Fprintf(b, "| %s | %s |\n", code(n), code(strings.Join(by[n], "; ")))
	}
}

func writeOperators(b *bufio.Writer) {
	b.WriteString("\n## Operators\n\n| operator | for |\n|---|---|\n")
	writeGroup(b, slices.DeleteFunc(slices.Clone(builtin.All()), func(o *call.Overload) bool { return !o.Operator }))
	writeMissing(b, "Operators that PostgreSQL has and this has not", builtin.MissingOperators())
}

func writeFunctions(b *bufio.Writer) {
	b.WriteString("\n## Functions\n\nCOALESCE, NULLIF, GREATEST, LEAST, GROUPING and what else is syntax stands with the statements.\nThe functions behind operators (`texteq` for `=`) can be called too.\n\n| function | signatures |\n|---|---|\n")
	writeGroup(b, slices.DeleteFunc(slices.Clone(builtin.All()), func(o *call.Overload) bool { return o.Operator || o.BehindOperator }))
	b.WriteString("\n### Aggregates\n\n| aggregate | signatures |\n|---|---|\n")
	var aggs []*call.Overload
	for _, a := range builtin.AllAggregates() {
		aggs = append(aggs, &a.Overload)
	}
	writeGroup(b, aggs)
	names := builtin.Names()
	windows := planner.WindowFunctions()
	b.WriteString("\nWindow functions: " + strings.Join(windows, ", ") + ", and every aggregate.\n")
	missing := slices.DeleteFunc(listed("function"), func(n string) bool {
		return slices.Contains(names, n) || slices.Contains(windows, n)
	})
	writeMissing(b, "Functions that PostgreSQL has and this has not", missing)
}

func writeMissing(b *bufio.Writer, title string, names []string) {
	fmt.Fprintf(b, "\n### %s\n\n", title)
	for _, n := range names {
		fmt.Fprintf(b, "%s\n", code(n))
	}
}
