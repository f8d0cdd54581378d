package sessionvar

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// Session is the part of a session that some parameters read and change directly.
type Session interface {
	// Database returns the name of the database.
	Database() string
	// UseDatabase changes the database; 25001 inside a transaction block.
	UseDatabase(ctx context.Context, name string) error
	// SeedRandom seeds random().
	SeedRandom(seed float64)
}

// Vars are the parameters of a session. Call Init before anything else.
type Vars struct {
	values  *settings.Values
	txn     *transaction.Transaction
	user    string
	session Session
}

// Init initializes v.
func (v *Vars) Init(values *settings.Values, txn *transaction.Transaction, user string, s Session) {
	v.values, v.txn, v.user, v.session = values, txn, user, s
}
