package sessionvar

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// Session is what parameters reach that are the session itself.
type Session interface {
	// Database returns the name of the database.
	Database() string
	// UseDatabase changes it; 25001 inside a transaction block.
	UseDatabase(ctx context.Context, name string) error
	// SeedRandom seeds random().
	SeedRandom(seed float64)
}

// Vars are the parameters of a session as its statements set and show them. Use Init before
// anything else.
type Vars struct {
	values  *settings.Values
	txn     *transaction.Transaction
	user    string
	session Session
}

// Init makes v ready.
func (v *Vars) Init(values *settings.Values, txn *transaction.Transaction, user string, s Session) {
	v.values, v.txn, v.user, v.session = values, txn, user, s
}
