package parser

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// rawError matches the messages that PostgreSQL's scanner and grammar give,
// before it looks at any catalog.
var rawError = regexp.MustCompile(`at or near|at end of input|^unterminated|not allowed$|^LIMIT #|` +
	`^frame |^improper |^wrong number of parameters on|^misplaced|^conflicting constraint|^cannot use|^invalid Unicode|` +
	`^type modifier cannot`)

// TestAgainstPostgres mutates the statements of testdata/statements.sql and
// compares what Parse says with what a PostgreSQL 15 server says, which is asked
// to prepare the text: accepted or not, code, message and position. It runs only
// when LICHEN_POSTGRES_URL names a server; LICHEN_ORACLE_ROUNDS sets how many
// mutations of each statement are tried.
func TestAgainstPostgres(t *testing.T) {
	url := os.Getenv("LICHEN_POSTGRES_URL")
	if url == "" {
		t.Skip("LICHEN_POSTGRES_URL is not set")
	}
	rounds, _ := strconv.Atoi(os.Getenv("LICHEN_ORACLE_ROUNDS"))
	file := os.Getenv("LICHEN_ORACLE_FILE")
	if file == "" {
		file = "testdata/statements.sql"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	lines := strings.Split(string(text), "\n")
	var pool []string
	for _, l := range lines {
		pool = append(pool, pieces(l)...)
	}
	rng := rand.New(rand.NewPCG(1, uint64(rounds)))
	for _, line := range lines {
		compareWithPostgres(ctx, t, conn, line)
		stmts, _ := Parse(line)
		for _, s := range stmts {
			if hasUnsupported(s.AST) {
				continue
			}
			for range rounds {
				compareWithPostgres(ctx, t, conn, mutate(rng, s.SQL, pool))
			}
		}
	}
}

// pieces cuts a text into its tokens.
func pieces(sql string) []string {
	var list []string
	l := lexer{sql: sql}
	for {
		t := l.next()
		if t.kind == tokEOF || t.kind == tokError {
			return list
		}
		list = append(list, sql[t.start:t.end])
	}
}

// mutate changes one or two tokens of a text.
func mutate(rng *rand.Rand, sql string, pool []string) string {
	p := pieces(sql)
	for range 1 + rng.IntN(2) {
		if len(p) == 0 {
			break
		}
		i := rng.IntN(len(p))
		other := pool[rng.IntN(len(pool))]
		switch rng.IntN(5) {
		case 0:
			p = append(p[:i], p[i+1:]...)
		case 1:
			p[i] = other
		case 2:
			p = append(p[:i], append([]string{other}, p[i:]...)...)
		case 3:
			j := rng.IntN(len(p))
			p[i], p[j] = p[j], p[i]
		case 4:
			p[i] = ast.Keywords[rng.IntN(len(ast.Keywords))].Word
		}
	}
	return strings.Join(p, " ")
}

// compareWithPostgres reports a difference between the two parsers.
func compareWithPostgres(ctx context.Context, t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	_, err := conn.Prepare(ctx, "", sql, nil)
	var theirs *pgconn.PgError
	if err != nil && !errors.As(err, &theirs) {
		t.Fatalf("connection lost at %s: %v", sql, err)
	}
	raw := theirs != nil && (theirs.Code == "42601" || theirs.Code == "42P20") && rawError.MatchString(theirs.Message)
	stmts, ourErr := Parse(sql)
	for _, s := range stmts {
		if hasUnsupported(s.AST) {
			return
		}
		checkRoundTrip(t, s)
	}
	ours := pgerr.CodeOf(ourErr)
	switch {
	case ours == pgerr.FeatureNotSupported:
	case ourErr == nil && !raw:
	case ourErr == nil:
		t.Errorf("only PostgreSQL refuses (%s): %s", describe(theirs), sql)
	case theirs == nil || !raw && theirs.Message != ourErr.Error():
		t.Errorf("only we refuse (%d: %s), they say %s: %s", pgerr.From(ourErr).Position, ourErr, describe(theirs), sql)
	case theirs.Message != ourErr.Error(), int(theirs.Position) != pgerr.From(ourErr).Position, theirs.Code != string(ours):
		t.Errorf("they %s, we %s %d: %s: %s", describe(theirs), ours, pgerr.From(ourErr).Position, ourErr, sql)
	}
}

func describe(e *pgconn.PgError) string {
	if e == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %d: %s", e.Code, e.Position, e.Message)
}
