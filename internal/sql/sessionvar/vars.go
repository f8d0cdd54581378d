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
	// MayChangeRole returns 42501 while a routine runs as its owner.
	MayChangeRole(parameter string) error
	// SetRole and SetSessionAuthorization return 42501 if the session may not become a role.
	SetRole(name string) error
	SetSessionAuthorization(name string) error
	// Superuser reports whether the session may do everything.
	Superuser() bool
	// MaySet reports whether a parameter that is the superusers' to change was granted to the session's user.
	MaySet(parameter string) bool
	// SessionUser is the name of the user of the session.
	SessionUser() string
	// SeedRandom seeds random().
	SeedRandom(seed float64)
}

// Vars are the parameters of a session. Call Init before anything else.
type Vars struct {
	values  *settings.Values
	txn     *transaction.Transaction
	session Session
}

// Init initializes v.
func (v *Vars) Init(values *settings.Values, txn *transaction.Transaction, s Session) {
	v.values, v.txn, v.session = values, txn, s
}
