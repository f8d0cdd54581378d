package main

import (
	"errors"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v4/parser"
)

// outcome is what a parser says about a text. An empty code accepts it.
type outcome struct {
	code, message string
	position      int // in characters from 1, 0 if none
}

// askPostgres parses a text with PostgreSQL's parser.
func askPostgres(sql string) outcome {
	_, err := pgquery.ParseToProtobuf(sql)
	if err == nil {
		return outcome{}
	}
	var e *pgquery.Error
	if !errors.As(err, &e) {
		panic(err)
	}
	return outcome{code: codeOf(e), message: e.Message, position: e.Cursorpos}
}

// codes are the SQLSTATEs of the parser's errors that are no syntax errors, by
// the beginnings of their messages: pg_query does not hand the code out. Run
// with -server to have them checked by a server.
var codes = []struct{ prefix, code string }{
	{"unsafe use of", "22P06"},
	{"invalid byte sequence", "22021"},
	{"frame ", "42P20"},
	{"WITH CHECK OPTION not supported", "0A000"},
	{"current database cannot be changed", "0A000"},
	{"column number must be in range", "22023"},
	{"memory exhausted", "54001"},
	{"stack depth limit", "54001"},
	{"there is no parameter", "42P02"},
	{"identifier too long", "42622"},
	{"role name ", "42939"},
}

func codeOf(e *pgquery.Error) string {
	if e.Message == "invalid Unicode escape" && e.Filename == "scan.l" {
		return "22025" // in E'...'; in U&'...' it is a syntax error
	}
	for _, c := range codes {
		if strings.HasPrefix(e.Message, c.prefix) {
			return c.code
		}
	}
	if strings.HasSuffix(e.Message, "not implemented") || strings.HasSuffix(e.Message, "not yet implemented") {
		return "0A000"
	}
	return "42601"
}
