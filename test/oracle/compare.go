package main

import (
	"strings"
)

// class is how the two parsers' outcomes relate.
type class int

const (
	bothAccept class = iota
	bothRefuse       // with the same code and position
	extension        // exception 1
	unread           // exception 2
	refused          // PostgreSQL accepts, Lichen says 0A000
	ownWay           // exception 3
	onlyTheirs       // PostgreSQL accepts, Lichen does not
	onlyOurs         // Lichen accepts, PostgreSQL does not
	otherCode        // both refuse with different SQLSTATEs
	otherPlace       // both refuse with the same SQLSTATE at different positions
	otherText        // as PostgreSQL, but for the message
	numClasses
)

var classNames = [numClasses]string{
	"both accept", "both refuse alike", "dialect", "refused unread (0A000)", "refused (0A000)", "pg_query's own way",
	"only PostgreSQL accepts", "only Lichen accepts", "other SQLSTATE", "other position", "other message",
}

func (c class) String() string { return classNames[c] }

// differs reports whether the class is a difference, not an agreement or exception.
func (c class) differs() bool { return c >= onlyTheirs }

// comparison is what the parsers said about one text.
type comparison struct {
	sql    string
	class  class
	theirs outcome
	ours   verdict
}

// compare asks both parsers. Where they differ and a form of the dialects was
// met, Lichen is asked again without them.
func compare(sql string) comparison {
	c := comparison{sql: sql, theirs: askPostgres(sql), ours: askLichen(sql, false)}
	c.class = classify(c.theirs, c.ours)
	if c.class.differs() && c.ours.extensions != 0 {
		if strict := classify(c.theirs, askLichen(sql, true)); strict.differs() {
			c.class = strict
		} else {
			c.class = extension
		}
	}
	return c
}

func classify(theirs outcome, ours verdict) class {
	switch {
	case theirs.code == "" && ours.unread:
		return refused
	case theirs.code == "" && ours.code == "":
		return bothAccept
	case theirs.code == ours.code && theirs.position == ours.position && theirs.message == ours.message:
		return bothRefuse
	case lenient(theirs, ours):
		return ownWay
	case ours.unread:
		return unread
	case theirs.code == "":
		return onlyTheirs
	case ours.code == "":
		return onlyOurs
	case theirs.code != ours.code:
		return otherCode
	case theirs.position != ours.position:
		return otherPlace
	}
	return otherText
}

// lenient reports whether pg_query is known to differ from PostgreSQL 15 here: it
// takes parameters in places where the grammar has only constants and names, and
// letters right behind a number. Of DO without code and of misplaced attributes
// of constraints PostgreSQL complains after parsing.
func lenient(theirs outcome, ours verdict) bool {
	return strings.HasPrefix(ours.message, `syntax error at or near "$`) ||
		strings.HasPrefix(ours.message, "trailing junk after ") ||
		theirs.code == "" && (ours.message == "no inline code specified" || strings.HasPrefix(ours.message, "misplaced "))
}
