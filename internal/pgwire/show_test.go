package pgwire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// show prints a message of the server on one line, its type first.
func show(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.AuthenticationOk:
		return "R"
	case *pgproto3.ParameterStatus:
		return fmt.Sprintf("S %s=%s", m.Name, m.Value)
	case *pgproto3.BackendKeyData:
		return "K"
	case *pgproto3.ReadyForQuery:
		return "Z " + string(m.TxStatus)
	case *pgproto3.RowDescription:
		var cols []string
		for _, f := range m.Fields {
			cols = append(cols, fmt.Sprintf("%s:%d:%d:%d:%d", shown(string(f.Name)), f.DataTypeOID, f.DataTypeSize, f.TypeModifier, f.Format))
		}
		return "T " + strings.Join(cols, " ")
	case *pgproto3.DataRow:
		var vals []string
		for _, v := range m.Values {
			if v == nil {
				vals = append(vals, "NULL")
			} else {
				vals = append(vals, fmt.Sprintf("%q", v))
			}
		}
		return "D " + strings.Join(vals, " ")
	case *pgproto3.CommandComplete:
		return "C " + string(m.CommandTag)
	case *pgproto3.ErrorResponse:
		return showError("E", (*pgproto3.NoticeResponse)(m))
	case *pgproto3.NoticeResponse:
		return showError("N", m)
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.PortalSuspended:
		return "s"
	case *pgproto3.EmptyQueryResponse:
		return "I"
	case *pgproto3.ParameterDescription:
		return fmt.Sprintf("t %d", m.ParameterOIDs)
	case *pgproto3.CopyInResponse:
		return fmt.Sprintf("G %d %d", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("H %d %d", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyData:
		return fmt.Sprintf("d %q", m.Data)
	case *pgproto3.CopyDone:
		return "c"
	}
	return fmt.Sprintf("? %T", m)
}

// shown returns text as it is, or quoted if it is not UTF8.
func shown(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.Quote(s)
}

func showError(typ string, e *pgproto3.NoticeResponse) string {
	s := fmt.Sprintf("%s %s %s %s", typ, e.Severity, e.Code, shown(e.Message))
	for _, f := range []struct{ name, value string }{
		{"detail", e.Detail}, {"hint", e.Hint}, {"where", e.Where}, {"table", e.TableName}, {"column", e.ColumnName},
		{"constraint", e.ConstraintName},
	} {
		if f.value != "" {
			s += fmt.Sprintf(" %s=%q", f.name, f.value)
		}
	}
	if e.Position != 0 {
		s += fmt.Sprintf(" position=%d", e.Position)
	}
	return s
}
