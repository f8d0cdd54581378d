package nullserver

import (
	"encoding/binary"
	"strings"

	"github.com/lichendb/lichen/internal/pgwire/wire"
)

// reply is the answer to a statement.
type reply struct {
	query  string
	params int
	desc   []byte // RowDescription, nil if the statement returns no rows
	row    []byte // DataRow
	tag    string
}

const int4Oid = 23

// replyTo makes the reply to a statement: one row for SELECT, a command tag for
// others.
func replyTo(query string) *reply {
	r := &reply{query: query, params: countParams(query)}
	word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n"), " ")
	switch word = strings.ToUpper(strings.TrimRight(word, ";")); word {
	case "SELECT":
		r.tag = "SELECT 1"
		switch {
		case strings.Contains(query, "partstrat"): // pgbench asks how its tables are partitioned: not at all
			r.rows([]string{"n", "partstrat", "count"}, []string{"1", "", "0"})
		case strings.Contains(query, "count(*)"): // pgbench's scale
			r.rows([]string{"count"}, []string{"10"})
		default:
			r.rows([]string{"abalance"}, []string{"0"})
		}
	case "INSERT":
		r.tag = "INSERT 0 1"
	case "UPDATE", "DELETE":
		r.tag = word + " 1"
	case "END", "COMMIT":
		r.tag = "COMMIT"
	default:
		r.tag = word
	}
	return r
}

// rows sets the columns, all int4, and the values of the one row; "" is NULL.
func (r *reply) rows(names, values []string) {
	be := binary.BigEndian
	r.desc = be.AppendUint16([]byte{wire.RowDescription, 0, 0, 0, 0}, uint16(len(names)))
	r.row = be.AppendUint16([]byte{wire.DataRow, 0, 0, 0, 0}, uint16(len(names)))
	for i, name := range names {
		r.desc = append(append(r.desc, name...), 0)
		r.desc = append(r.desc, 0, 0, 0, 0, 0, 0) // no table column
		r.desc = be.AppendUint32(r.desc, int4Oid)
		r.desc = be.AppendUint16(r.desc, 4)
		r.desc = be.AppendUint32(r.desc, 0xffffffff)
		r.desc = be.AppendUint16(r.desc, 0)
		if values[i] == "" {
			r.row = be.AppendUint32(r.row, 0xffffffff)
		} else {
			r.row = be.AppendUint32(r.row, uint32(len(values[i])))
			r.row = append(r.row, values[i]...)
		}
	}
	be.PutUint32(r.desc[1:], uint32(len(r.desc)-1))
	be.PutUint32(r.row[1:], uint32(len(r.row)-1))
}

// countParams returns the highest n of the $n in a statement; benchmark clients
// have no $n in literals.
func countParams(query string) int {
	most := 0
	for i := 0; i < len(query); i++ {
		if query[i] != '$' {
			continue
		}
		n := 0
		for i++; i < len(query) && query[i] >= '0' && query[i] <= '9' && n < 1000; i++ {
			n = n*10 + int(query[i]-'0')
		}
		most = max(most, n)
	}
	return most
}

// describe appends the answer to Describe of a statement or a portal.
func (r *reply) describe(w *wire.Conn, statement bool) {
	if statement {
		w.Begin(wire.ParameterDescription)
		w.Int16(int16(r.params))
		for range r.params {
			w.Int32(int4Oid)
		}
		w.End()
	}
	if r.desc == nil {
		w.Empty(wire.NoData)
		return
	}
	w.Raw(r.desc)
}

// execute appends the rows and the end of the statement.
func (r *reply) execute(w *wire.Conn) {
	w.Raw(r.row)
	w.CommandComplete(r.tag)
}
