package kvwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
)

// message is a kind of message: how it is written and read. zero returns a pointer
// to an empty struct.
type message struct {
	zero   func() any
	encode func(m any) []byte
	decode func(b []byte, m any) error
}

func msg[T any](encode func([]byte, *T) []byte, decode func([]byte, *T) error) message {
	return message{
		zero:   func() any { return new(T) },
		encode: func(m any) []byte { return encode(nil, m.(*T)) },
		decode: func(b []byte, m any) error { return decode(b, m.(*T)) },
	}
}

func messages() map[string]message {
	return map[string]message{
		"get":          msg(AppendGet, DecodeGet),
		"get resp":     msg(AppendGetResponse, DecodeGetResponse),
		"scan":         msg(AppendScan, DecodeScan),
		"lock":         msg(AppendLock, DecodeLock),
		"lock resp":    msg(AppendLockResponse, DecodeLockResponse),
		"locks":        msg(AppendLockMany, DecodeLockMany),
		"locks resp":   msg(AppendLockManyResponse, DecodeLockManyResponse),
		"refresh":      msg(AppendRefresh, DecodeRefresh),
		"reserve":      msg(AppendReserve, DecodeReserve),
		"commit":       msg(AppendCommit, DecodeCommit),
		"commit resp":  msg(AppendCommitResponse, DecodeCommitResponse),
		"release":      msg(AppendRelease, DecodeRelease),
		"spill":        msg(AppendSpill, DecodeSpill),
		"spilled":      msg(AppendSpilled, DecodeSpilled),
		"unspill":      msg(AppendUnspill, DecodeUnspill),
		"spilled resp": msg(AppendSpilledResponse, DecodeSpilledResponse),
		"descriptor":   msg(AppendDescriptor, decodeDescriptor),
		"stage":        msg(AppendStage, DecodeStage),
		"stage resp":   msg(AppendStageResponse, DecodeStageResponse),
		"end":          msg(AppendEndTxn, DecodeEndTxn),
		"end resp":     msg(AppendEndTxnResponse, DecodeEndTxnResponse),
		"resolve":      msg(AppendResolve, DecodeResolve),
		"push":         msg(AppendPush, DecodePush),
		"push resp":    msg(AppendPushResponse, DecodePushResponse),
		"query":        msg(AppendQueryStaged, DecodeQueryStaged),
		"query resp":   msg(AppendQueryStagedResponse, DecodeQueryStagedResponse),
		"waits":        msg(AppendWaits, DecodeWaits),
		"waits resp":   msg(AppendWaitsResponse, DecodeWaitsResponse),
	}
}

func decodeDescriptor(b []byte, d *kvpb.RangeDescriptor) error {
	got, err := DecodeDescriptor(b)
	if err == nil {
		*d = *got
	}
	return err
}

// fill draws a value for every field of v, so that a field that is added to a
// message, but not to its encoding, fails the test. Lists are nil or not empty.
func fill(t *rapid.T, v reflect.Value, full bool) {
	least := 0
	if full {
		least = 1
	}
	if drawRule(t, v, least) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), full)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), full)
	case reflect.Bool:
		v.SetBool(full || rapid.Bool().Draw(t, "bool"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		top := uint64(1)<<(v.Type().Bits()-1)<<1 - 1
		v.SetUint(rapid.Uint64Range(uint64(least), top).Draw(t, "uint"))
	case reflect.Int, reflect.Int64:
		v.SetInt(max(rapid.Int64().Draw(t, "int"), int64(least)))
	case reflect.String:
		v.SetString(rapid.StringN(least, 10, -1).Draw(t, "string"))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if full || rapid.Bool().Draw(t, "set") {
				v.SetBytes(rapid.SliceOfN(rapid.Byte(), least, 40).Draw(t, "bytes"))
			}
			return
		}
		n := rapid.IntRange(least, 4).Draw(t, "n")
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range n {
			fill(t, v.Index(i), full)
		}
	case reflect.Func: // it stays where it is
	default:
		t.Fatalf("fill: %s", v.Type())
	}
}

// drawRule draws a value of a type that has fewer values than its bits could be.
func drawRule(t *rapid.T, v reflect.Value, least int) bool {
	within := func(first, last uint8) { v.SetUint(uint64(rapid.Uint8Range(first, last).Draw(t, "enum"))) }
	zero := uint8(least)
	switch v.Interface().(type) {
	case kvpb.Isolation:
		within(zero, uint8(kvpb.ReadCommitted))
	case lock.Strength:
		within(uint8(lock.KeyShare), uint8(lock.NumStrengths)-1)
	case lock.WaitPolicy:
		within(zero, uint8(lock.WaitSkip))
	case kvpb.EndAction:
		within(zero, uint8(kvpb.EndForget))
	case kvpb.TxnStatus:
		within(zero, uint8(kvpb.TxnAborted))
	case kvpb.ReplicaType:
		within(zero, uint8(kvpb.LearnerOutgoing))
	case hlc.Timestamp:
		v.Set(reflect.ValueOf(hlc.Timestamp{
			WallTime: rapid.Int64Range(int64(least), math.MaxInt64).Draw(t, "wall"),
			Logical:  rapid.Uint32Min(uint32(least)).Draw(t, "logical"),
		}))
	default:
		return false
	}
	return true
}

func drawMessage(t *rapid.T, m message) any {
	v := m.zero()
	fill(t, reflect.ValueOf(v).Elem(), rapid.Bool().Draw(t, "full"))
	switch v := v.(type) {
	case *kvpb.SpillRequest:
		v.Positions = make([]uint64, len(v.Writes))
		for i := range v.Positions {
			v.Positions[i] = rapid.Uint64().Draw(t, "position")
		}
		if len(v.Positions) == 0 {
			v.Positions = nil
		}
	case *kvpb.GetResponse:
		v.Value = append([]byte{}, v.Value...)
	case *kvpb.LockResponse:
		v.Value = append([]byte{}, v.Value...)
	case *kvpb.LockManyResponse:
		for i := range v.Locks {
			v.Locks[i].Waited = 0 // which is not sent: they don't wait
			v.Locks[i].Value = bytes.Clone(v.Locks[i].Value)
			if len(v.Locks[i].Value) == 0 {
				v.Locks[i].Value = nil
			}
		}
	}
	return v
}

// used returns an empty struct whose buffers were used before.
func used(m message) any {
	v := m.zero()
	switch v := v.(type) {
	case *kvpb.GetResponse:
		v.Value = make([]byte, 0, 8)
	case *kvpb.LockResponse:
		v.Value = make([]byte, 0, 8)
	}
	return v
}

// Invariant W1: every field survives.
func TestRoundTrip(t *testing.T) {
	for name, m := range messages() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := drawMessage(t, m)
				got := used(m)
				if err := m.decode(m.encode(want), got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("got  %+v\nwant %+v", got, want)
				}
			})
		})
	}
}

// A scan's rows survive whether or not they lie one behind the other, into a
// response that was used before.
func TestScanResponse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var resp kvpb.ScanResponse
		small := rapid.SliceOfN(rapid.Byte(), 0, 20)
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			if rapid.IntRange(0, 4).Draw(t, "gap") == 0 {
				resp.Arena = append(resp.Arena, "gap"...)
			}
			resp.Append(small.Draw(t, "key"), small.Draw(t, "value"))
		}
		if rapid.Bool().Draw(t, "more") {
			resp.Resume = append([]byte{}, small.Draw(t, "resume")...)
		}
		resp.ReadTS.WallTime = rapid.Int64Min(0).Draw(t, "ts")
		var got kvpb.ScanResponse
		got.Append([]byte("old"), []byte("row"))
		if err := DecodeScanResponse(AppendScanResponse([]byte("x"), &resp)[1:], &got); err != nil {
			t.Fatal(err)
		}
		if got.Len() != resp.Len() || !reflect.DeepEqual(got.Resume, resp.Resume) || got.ReadTS != resp.ReadTS {
			t.Fatalf("got %+v, want %+v", got, resp)
		}
		for i := range got.Len() {
			if !bytes.Equal(got.Key(i), resp.Key(i)) || !bytes.Equal(got.Value(i), resp.Value(i)) {
				t.Fatalf("row %d: got %q=%q, want %q=%q", i, got.Key(i), got.Value(i), resp.Key(i), resp.Value(i))
			}
		}
	})
}

// Invariant W3: a newer node's message, longer at its end, is read.
func TestGrowth(t *testing.T) {
	for name, m := range messages() {
		rapid.Check(t, func(t *rapid.T) {
			want := drawMessage(t, m)
			got := used(m)
			if err := m.decode(append(m.encode(want), 1, 2, 3), got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !bytes.Equal(m.encode(got), m.encode(want)) {
				t.Fatalf("%s: got %+v, want %+v", name, got, want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	b := AppendRequest(nil, OpScan, 300)
	op, id, body, err := DecodeRequest(append(b, "rest"...))
	if op != OpScan || id != 300 || string(body) != "rest" || err != nil {
		t.Errorf("got %d %d %q %v", op, id, body, err)
	}
	b[0] = 9
	if _, _, _, err := DecodeRequest(b); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("a request of another version: %v", err)
	}
	d := AppendDescriptor(nil, &kvpb.RangeDescriptor{RangeID: 1})
	d[0] = 1
	if _, err := DecodeDescriptor(d); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("a descriptor of another version: %v", err)
	}
}

func typedErrors() []error {
	cause := errors.New("no quorum")
	desc := kvpb.RangeDescriptor{
		RangeID: 7, StartKey: []byte("a"), EndKey: []byte("m"), Generation: 4, BoundsGen: 3, NextReplicaID: 9,
		Replicas: []kvpb.ReplicaDescriptor{{Node: 1, Store: 2, Replica: 3, Type: kvpb.Learner}},
		Merging:  8, Into: 6, IntoGeneration: 11,
	}
	return []error{
		&kvpb.RetryError{Reason: "changed", Key: []byte("k")},
		&kvpb.DeadlockError{Cycle: []kvpb.TxnID{{Hi: 1, Lo: 2}, {Hi: 3, Lo: 4}}},
		&kvpb.LockNotAvailableError{Timeout: true},
		&kvpb.LockNotAvailableError{},
		&kvpb.TooManyLocksError{Limit: 5},
		&kvpb.SnapshotTooOldError{ReadTS: hlc.Timestamp{WallTime: 5}, Threshold: hlc.Timestamp{WallTime: 9, Logical: 1}},
		&kvpb.AmbiguousCommitError{Cause: &kvpb.UnavailableError{Reason: cause.Error()}},
		&kvpb.DiskFullError{Cause: &kvpb.RetryError{Reason: "inner"}},
		&kvpb.TxnTooLargeError{Bytes: 10, Limit: 9},
		&kvpb.UnavailableError{Reason: "stopping"},
		&kvpb.NotLeaderError{Range: 7, Leader: desc.Replicas[0], Desc: &desc},
		&kvpb.NotLeaderError{Range: 7},
		&kvpb.RangeMismatchError{Range: 7, Known: []kvpb.RangeDescriptor{desc, desc}},
		&kvpb.RangeMismatchError{Range: 7},
		&kvpb.UncertaintyError{Key: []byte("k"), TS: hlc.Timestamp{WallTime: 5}},
		&quota.ExceededError{Pool: "node", Limit: 9, Used: 7, Requested: 3},
	}
}

func overTheWire(t *testing.T, err error) error {
	t.Helper()
	body, got := DecodeResponse(AppendFailure(nil, err))
	if body != nil || got == nil || errors.Is(got, ErrDamaged) {
		t.Fatalf("%v came back as %v", err, got)
	}
	return got
}

// Invariant W4: errors keep type, fields, class and text.
func TestErrors(t *testing.T) {
	for _, want := range typedErrors() {
		if got := overTheWire(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, want %#v", got, want)
		}
		for _, wrapped := range []error{
			fmt.Errorf("range 7: %w", want), errors.Join(errors.New("first"), want),
		} {
			got := overTheWire(t, wrapped)
			typed := reflect.New(reflect.TypeOf(want))
			if !errors.As(got, typed.Interface()) || !reflect.DeepEqual(typed.Elem().Interface(), want) {
				t.Errorf("%v: lost the type in %#v", wrapped, got)
			}
			if got.Error() != wrapped.Error() || kvpb.Classify(got) != kvpb.Classify(wrapped) {
				t.Errorf("got %q of class %d, want %q", got, kvpb.Classify(got), wrapped)
			}
		}
	}
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := overTheWire(t, fmt.Errorf("waiting: %w", want)); !errors.Is(got, want) {
			t.Errorf("%v came back as %v", want, got)
		}
	}
	got := overTheWire(t, errors.New("bad sector"))
	if got.Error() != "bad sector" || kvpb.Classify(got) != kvpb.ClassBroken {
		t.Errorf("an unknown error came back as %v of class %d", got, kvpb.Classify(got))
	}
}

// An error of a type that only a newer node knows keeps its text and class.
func TestUnknownErrorCode(t *testing.T) {
	b := AppendError(nil, &kvpb.RetryError{Reason: "new kind"})
	b[0] = 250
	got, err := DecodeError(b)
	if err != nil || kvpb.Classify(got) != kvpb.ClassRetry || got.Error() != "restart transaction: new kind" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Causes are nested to a bounded depth, in both directions.
func TestDeepCauses(t *testing.T) {
	var err error = &kvpb.UnavailableError{Reason: "end"}
	for range 20 {
		err = &kvpb.DiskFullError{Cause: err}
	}
	if got := overTheWire(t, err); got.Error() != err.Error() {
		t.Errorf("got %q, want %q", got, err)
	}
	b := []byte{byte(codeOther), 0, 1}
	for range 10000 {
		b = append([]byte{byte(codeDiskFull), 0, 1}, b...)
	}
	if _, err := DecodeError(b); err != nil {
		t.Error(err)
	}
}

// Invariant W2: a value that no enumeration has is damage, in every message that has one.
func TestUnknownValues(t *testing.T) {
	txn := &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: 1, Lo: 2}}
	odd := &kvpb.TxnMeta{Isolation: kvpb.ReadCommitted + 1}
	for name, err := range map[string]error{
		"isolation":    DecodeGet(AppendGet(nil, &kvpb.GetRequest{Txn: odd}), new(kvpb.GetRequest)),
		"no strength":  DecodeLock(AppendLock(nil, &kvpb.LockRequest{Txn: txn}), new(kvpb.LockRequest)),
		"strength":     DecodeLock(AppendLock(nil, &kvpb.LockRequest{Txn: txn, Strength: 200}), new(kvpb.LockRequest)),
		"strengths":    DecodeLockMany(AppendLockMany(nil, &kvpb.LockManyRequest{Txn: txn, Strength: 5}), new(kvpb.LockManyRequest)),
		"wait":         DecodeLock(AppendLock(nil, &kvpb.LockRequest{Txn: txn, Strength: lock.Share, Wait: 3}), new(kvpb.LockRequest)),
		"action":       DecodeEndTxn(AppendEndTxn(nil, &kvpb.EndTxnRequest{Txn: txn, Action: 3}), new(kvpb.EndTxnRequest)),
		"status":       DecodeEndTxnResponse(AppendEndTxnResponse(nil, &kvpb.EndTxnResponse{Status: 4}), new(kvpb.EndTxnResponse)),
		"pushed":       DecodePushResponse(AppendPushResponse(nil, &kvpb.PushResponse{Status: 4}), new(kvpb.PushResponse)),
		"replica type": decodeDescriptor(AppendDescriptor(nil, &kvpb.RangeDescriptor{Replicas: []kvpb.ReplicaDescriptor{{Type: kvpb.LearnerOutgoing + 1}}}), new(kvpb.RangeDescriptor)),
		"time":         DecodeRefresh(AppendRefresh(nil, &kvpb.RefreshRequest{Txn: txn, To: hlc.Timestamp{WallTime: -1}}), new(kvpb.RefreshRequest)),
	} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
	b := AppendError(nil, errors.New("of no class"))
	b[1] = byte(kvpb.ClassAmbiguous) + 1
	if _, err := DecodeError(b); !errors.Is(err, ErrDamaged) {
		t.Errorf("class: got %v, want ErrDamaged", err)
	}
}

// Invariant W2: any bytes.
func FuzzDecode(f *testing.F) {
	all := messages()
	var kinds []message
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		kinds = append(kinds, all[name])
		f.Add(append([]byte{byte(i)}, all[name].encode(all[name].zero())...))
	}
	var resp kvpb.ScanResponse
	resp.Append([]byte("k"), []byte("v"))
	f.Add(AppendScanResponse([]byte{200}, &resp))
	for _, err := range typedErrors() {
		f.Add(AppendFailure([]byte{201}, err))
	}
	f.Add(AppendGet(AppendRequest([]byte{202}, OpGet, 1), &kvpb.GetRequest{Key: []byte("k")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		kind, b := int(b[0]), b[1:]
		var scan kvpb.ScanResponse
		_, _ = DecodeResponse(b)
		_, _, _, _ = DecodeRequest(b)
		if DecodeScanResponse(b, &scan) == nil {
			for i := range scan.Len() {
				_, _ = scan.Key(i), scan.Value(i)
			}
		}
		if kind >= len(kinds) {
			return
		}
		m := kinds[kind]
		first := m.zero()
		if m.decode(b, first) != nil {
			return
		}
		again := m.zero()
		enc := m.encode(first)
		if err := m.decode(enc, again); err != nil || !bytes.Equal(m.encode(again), enc) {
			t.Fatalf("%x decodes to %+v, then to %+v (%v)", b, first, again, err)
		}
	})
}
