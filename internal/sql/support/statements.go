package support

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

var (
	//go:embed statements.txt
	statements string
	//go:embed setup.sql
	setup string
)

// refusals are the errors that say that something is not supported. Some of PostgreSQL's
// own texts for what an object does not do have a code of their own.
var refusals = map[string]bool{
	string(pgerr.FeatureNotSupported): true, string(pgerr.WrongObjectType): true, string(pgerr.ObjectNotInPrerequisiteState): true,
}

// outcome tries statements and says what came of it: yes, no effect, or no, and why.
func outcome(ctx context.Context, r Runner, sql string, alone bool) (works, remark string, err error) {
	if !alone {
		sql = "BEGIN; " + sql
	}
	notices, err := runAll(ctx, r, sql)
	if _, undo := r.Run(ctx, "ROLLBACK"); undo != nil {
		return "", "", undo
	}
	var pe *pgconn.PgError
	switch {
	case errors.As(err, &pe) && refusals[pe.Code]:
		return "no", pe.Message, nil
	case err != nil:
		return "", "", fmt.Errorf("%s: %w", sql, err)
	}
	for _, n := range notices {
		if _, why, ok := strings.Cut(n, " accepted without effect: "); ok {
			return "no effect", why, nil
		}
	}
	return "yes", "", nil
}

func writeStatements(ctx context.Context, b *bufio.Writer, r Runner) error {
	b.WriteString("\n## Statements\n")
	for line := range strings.Lines(statements) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "== "); ok {
			fmt.Fprintf(b, "\n### %s\n\n| form | works | remark |\n|---|---|---|\n", command)
			continue
		}
		form, sql, ok := strings.Cut(line, " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		sql, alone := strings.CutPrefix(sql, "! ")
		works, remark, err := outcome(ctx, r, sql, alone)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(form), works, cell(remark))
	}
	return nil
}
