package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/kverror"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// translate turns an error into what the client sees, and names the table of a conflict.
func (ex *executor) translate(ctx context.Context, err error) error {
	err = kverror.Translate(ctx, err)
	var e *pgerr.Error
	var retry *kvpb.RetryError
	if err == nil || !errors.As(err, &e) || e.Code != pgerr.SerializationFailure || !errors.As(e.Cause, &retry) {
		return err
	}
	if _, table, _, _, ok := keys.DecodeIndexPrefix(retry.Key); ok {
		if d := ex.coll.Known(catalog.ID(table)); d != nil {
			e.Table = d.Ident().Name
			e.Detail = fmt.Sprintf("The conflict is in table \"%s\", at key %s.", e.Table, keys.Pretty(retry.Key))
		}
	}
	return err
}

// failWith notes an error of a statement, and returns what its client sees of it.
func (ex *executor) failWith(ctx context.Context, err error) error {
	ex.blockEnded(err)
	err = ex.translate(ctx, err)
	ex.txn.Fail(ctx)
	return err
}
