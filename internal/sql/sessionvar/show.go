package sessionvar

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Show returns the value that SHOW prints for a parameter; false if there is no such parameter. For
// a mode it asks the transaction.
func (v *Vars) Show(name string) (string, bool) {
	switch settings.Canonical(name) {
	case "transaction_isolation":
		return v.txn.Isolation(), true
	case "transaction_read_only":
		return onOff(v.txn.ReadOnly()), true
	case "transaction_deferrable":
		return onOff(v.txn.Modes().Deferrable), true
	case "session_authorization":
		return v.session.SessionUser(), true
	case "database":
		return v.session.Database(), true
	}
	return v.values.Get(name)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// Columns returns the result columns of SHOW for one parameter or ALL.
func Columns(name string) []plan.Column {
	if isAll(name) {
		return []plan.Column{column("name"), column("setting"), column("description")}
	}
	return []plan.Column{column(spelling(name))}
}

func column(name string) plan.Column { return plan.Column{Name: name, Type: types.Text} }

func isAll(name string) bool { return strings.EqualFold(name, "all") }

// Rows returns the result rows of SHOW for one parameter or ALL; 42704 if there is no such
// parameter.
func (v *Vars) Rows(name string) ([][]types.Datum, error) {
	if isAll(name) {
		return v.all(), nil
	}
	text, ok := v.Show(name)
	if !ok {
		return nil, settings.Unrecognized(name)
	}
	return [][]types.Datum{{types.NewString(text)}}, nil
}

func (v *Vars) all() (rows [][]types.Datum) {
	for _, p := range settings.All() {
		if p.Unlisted() {
			continue
		}
		text, _ := v.Show(p.Name)
		doc := p.Doc
		if p.NoEffect {
			doc = "no effect: " + p.Why
		}
		rows = append(rows, []types.Datum{types.NewString(p.Name), types.NewString(text), types.NewString(doc)})
	}
	return rows
}

// spelling returns a parameter's name with its canonical capitals.
func spelling(name string) string {
	for _, p := range settings.All() {
		if strings.EqualFold(p.Name, name) {
			return p.Name
		}
	}
	return name
}
