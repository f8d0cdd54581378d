package kverror_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/kverror"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// What may have happened is never reported as if it had not, whatever led to it.
func TestKVErrors(t *testing.T) {
	retry := &kvpb.RetryError{Reason: "a row changed", Key: keys.IndexPrefix(1, 104, 1)}
	for _, c := range []struct {
		err        error
		code       pgerr.Code
		says, hint string
	}{
		{retry, pgerr.SerializationFailure, "a row changed", "retried"},
		{&kvpb.UncertaintyError{Key: []byte("k")}, pgerr.SerializationFailure, "uncertainty of the clocks", "retried"},
		{&kvpb.AmbiguousCommitError{Cause: retry}, pgerr.StatementCompletionUnknown, "unknown", "look"},
		{&kvpb.AmbiguousCommitError{Cause: context.Canceled}, pgerr.StatementCompletionUnknown, "unknown", "look"},
		{&kvpb.AmbiguousCommitError{Cause: &kvpb.UnavailableError{Reason: "x"}}, pgerr.StatementCompletionUnknown, "unknown", "look"},
		{context.Canceled, pgerr.QueryCanceled, "canceling", ""},
		{errors.New("read /store: input/output error"), pgerr.IOError, "input/output error", ""},
		{pgerr.From(errors.New("connection reset")), pgerr.IOError, "connection reset", ""},
		{pgerr.Assertion("no plan"), pgerr.InternalError, "assertion failed: no plan", ""},
		{
			&kvpb.UnavailableError{Reason: "range 7 has had no leader", Detail: "nodes 2 and 3", Hint: "Start nodes 2 and 3"},
			pgerr.CannotConnectNow, "range 7", "Start nodes 2 and 3",
		},
	} {
		e := pgerr.From(kverror.Translate(context.Background(), c.err))
		if e.Code != c.code || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%v: %s %q, hint %q", c.err, e.Code, e.Message, e.Hint)
		}
	}
	if e := pgerr.From(kverror.Translate(context.Background(), retry)); !strings.Contains(e.Detail, "104") {
		t.Errorf("the conflict is not named: %q", e.Detail)
	}
}
