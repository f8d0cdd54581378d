package logictest

import (
	"context"
	"regexp"

	"github.com/lichendb/lichen/internal/sql"
)

// blocks puts runs of statements into serializable transaction blocks of their session, as
// a Configuration with Blocks asks for.
type blocks struct {
	open *sql.Session // whose block is open, nil if none is
	n    int          // statements in it
}

// maxBlock bounds the statements of a block.
const maxBlock = 8

// apart are statements that a block can't have, that end one, or that tell whether there is
// one.
var apart = regexp.MustCompile(`(?i)^\s*(begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction|` +
	`(create|drop|alter)\s+(database|tablespace)|vacuum|cluster|reindex|discard|set\s+(session|local|transaction|constraints|time|seed|database)|` +
	`show\s+(transaction|ranges|range|survival|cluster)|declare|fetch|move|close|analyze|copy|use|lock)\b|concurrently|as\s+of\s+system\s+time|` +
	`now\(|current_|local(time|timestamp)|clock_timestamp|_timestamp\(|xact|txid|snapshot|advisory|pg_locks|pg_cursors|\[\s*show\b|isolation|read_only|read only|deferr`)

// before opens or ends the block in which a record's statement is to run.
func (b *blocks) before(s *sql.Session, head []string, text string) error {
	alone := head[0] == "statement" && head[1] == "error" || apart.MatchString(text) || s.Status() != 'I' && b.open != s
	if b.open != nil && (alone || b.open != s || b.n == maxBlock) {
		if err := b.end(); err != nil {
			return err
		}
	}
	if alone {
		return nil
	}
	if b.open == nil {
		if err := command(s, "begin isolation level serializable"); err != nil {
			return err
		}
		b.open, b.n = s, 0
	}
	b.n++
	return nil
}

// end commits the block that is open.
func (b *blocks) end() error {
	if b.open == nil {
		return nil
	}
	s := b.open
	b.open = nil
	return command(s, "commit")
}

func command(s *sql.Session, text string) error {
	return s.Query(context.Background(), text, NewRows(s))
}
