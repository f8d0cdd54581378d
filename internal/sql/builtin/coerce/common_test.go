package coerce_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func TestCommonType(t *testing.T) {
	for _, tc := range []struct {
		ts   []*types.T
		want string
	}{
		{[]*types.T{types.Int4, types.Int8}, "bigint"},
		{[]*types.T{types.Int8, types.Numeric, types.Int2}, "numeric"},
		{[]*types.T{types.Numeric, types.Float8}, "double precision"},
		{[]*types.T{types.Unknown, types.Unknown}, "text"},
		{[]*types.T{types.Unknown, types.Date}, "date"},
		{[]*types.T{types.Date, types.TimestampTZ, types.Timestamp}, "timestamp with time zone"},
		{[]*types.T{types.Varchar, types.Text}, "character varying"},
		{[]*types.T{types.Text, types.Varchar}, "text"},
		{[]*types.T{types.Varchar, types.Bpchar}, "character varying"},
		{[]*types.T{types.Int4Array, types.Unknown}, "integer[]"},
		{nil, "text"},
	} {
		got, err := coerce.CommonType(tc.ts, "CASE")
		if err != nil || got.SQLName != tc.want {
			t.Errorf("%v: got %v, %v, want %s", tc.ts, got, err, tc.want)
		}
	}
	_, err := coerce.CommonType([]*types.T{types.Int4, types.Text}, "UNION")
	if e := pgerr.From(err); e.Code != pgerr.DatatypeMismatch || e.Message != "UNION types integer and text cannot be matched" {
		t.Errorf("got %v", err)
	}
	vc := types.Varchar.WithTypmod(14)
	if got, _ := coerce.CommonType([]*types.T{vc, vc}, "CASE"); got.Typmod != 14 {
		t.Errorf("modifier %d", got.Typmod)
	}
	if got, _ := coerce.CommonType([]*types.T{vc, types.Varchar}, "CASE"); got.Typmod != -1 {
		t.Errorf("modifier %d", got.Typmod)
	}
}
