package eval

import (
	"cmp"
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// rowsPerCancelCheck is how many rows a scan reads between looks at its context.
const rowsPerCancelCheck = 4096

// Get evaluates a point read.
func Get(eng *storage.Engine, req *kvpb.GetRequest, resp *kvpb.GetResponse) error {
	v, found, err := mvcc.Get(eng, req.Key, req.Txn.ReadTS, resp.Value[:0])
	resp.Found, resp.TS = found, v.TS
	if found {
		resp.Value = v.Data
	}
	return err
}

// Latest reads the newest version of a locked key that is not above ts.
func Latest(r *mvcc.Reader, key []byte, ts hlc.Timestamp, resp *kvpb.LockResponse) error {
	v, found, err := r.Get(key, ts, resp.Value[:0])
	resp.Found, resp.TS = found, v.TS
	if found {
		resp.Value = v.Data
	}
	return err
}

// Scan evaluates a scan of one page.
func Scan(ctx context.Context, eng *storage.Engine, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	if !req.ChangedSince.IsEmpty() {
		return scanChanges(ctx, eng, req, nil, resp)
	}
	r := mvcc.NewReader(eng)
	defer r.Close()
	if len(req.Spans) > 0 {
		return scanSpans(ctx, &r, req, resp, false)
	}
	return scan(ctx, &r, req, resp)
}

func scan(ctx context.Context, r *mvcc.Reader, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	s, err := r.Scanner(keys.Span{Start: req.Start, End: req.End}, req.Txn.ReadTS, req.Reverse)
	if err != nil {
		return err
	}
	for n := 1; s.Next(); n++ {
		key := s.Key()
		if err := appendRow(r.Values(), resp, key, s.Value()); err != nil {
			return err
		}
		if req.MaxKeys > 0 && n >= req.MaxKeys || req.MaxBytes > 0 && len(resp.Arena) >= req.MaxBytes {
			resp.Resume = append([]byte(nil), key...)
			if !req.Reverse {
				resp.Resume = append(resp.Resume, 0)
			}
			break
		}
		if n%rowsPerCancelCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.Err()
}

// Refresh returns a *kvpb.RetryError if the spans have a version above from and not above to. hidden
// is nil if no version is hidden.
func Refresh(
	ctx context.Context, eng *storage.Engine, spans []kvpb.Span, from, to hlc.Timestamp, hidden mvcc.Hidden,
) error {
	for _, s := range spans {
		span := keys.Span{Start: s.Key}
		if len(s.EndKey) > 0 {
			span.End = s.EndKey
		}
		var changed bool
		var key []byte
		var err error
		if hidden == nil {
			changed, key, err = mvcc.ChangedSince(ctx, eng, span, from, to)
		} else {
			changed, key, err = mvcc.ChangedVisible(ctx, eng, span, from, to, hidden)
		}
		if err != nil {
			return err
		}
		if changed {
			return &kvpb.RetryError{
				Reason: "could not serialize access due to read/write dependencies among transactions", Key: key,
			}
		}
	}
	return nil
}

// GetVisible is Get but for the versions that are hidden.
func GetVisible(eng *storage.Engine, req *kvpb.GetRequest, hidden mvcc.Hidden, resp *kvpb.GetResponse) error {
	v, found, err := mvcc.GetVisible(eng, req.Key, req.Txn.ReadTS, hidden, resp.Value[:0])
	resp.Found, resp.TS = found, v.TS
	if found {
		resp.Value = v.Data
	}
	return err
}

// ScanVisible is Scan but for the versions that are hidden.
func ScanVisible(
	ctx context.Context, eng *storage.Engine, req *kvpb.ScanRequest, hidden mvcc.Hidden, resp *kvpb.ScanResponse,
) error {
	if !req.ChangedSince.IsEmpty() {
		return scanChanges(ctx, eng, req, hidden, resp)
	}
	if len(req.Spans) > 0 {
		return scanSpansVisible(ctx, eng, req, hidden, resp)
	}
	n := 0
	var full error
	span := keys.Span{Start: req.Start, End: req.End}
	err := mvcc.ScanVisible(ctx, eng, span, req.Txn.ReadTS, hidden, req.Reverse, func(key, value []byte) bool {
		if full = appendRow(eng.Values(), resp, key, value); full != nil {
			return false
		}
		if n++; req.MaxKeys > 0 && n >= req.MaxKeys || req.MaxBytes > 0 && len(resp.Arena) >= req.MaxBytes {
			resp.Resume = append([]byte(nil), key...)
			if !req.Reverse {
				resp.Resume = append(resp.Resume, 0)
			}
			return false
		}
		return true
	})
	return cmp.Or(full, err)
}

// scanChanges evaluates a page of the keys that have changed.
func scanChanges(
	ctx context.Context, eng *storage.Engine, req *kvpb.ScanRequest, hidden mvcc.Hidden, resp *kvpb.ScanResponse,
) error {
	span := keys.Span{Start: req.Start, End: req.End}
	return mvcc.Changes(ctx, eng, span, req.ChangedSince, req.Txn.ReadTS, hidden, func(key []byte) bool {
		resp.Append(key, nil)
		if req.MaxKeys > 0 && resp.Len() >= req.MaxKeys || req.MaxBytes > 0 && len(resp.Arena) >= req.MaxBytes {
			resp.Resume = append(append([]byte(nil), key...), 0)
			return false
		}
		return true
	})
}

// appendRow adds a row to a page. It returns a *quota.ExceededError if there is no memory for a large
// value.
func appendRow(mem *quota.Values, resp *kvpb.ScanResponse, key, value []byte) (err error) {
	if len(value) >= quota.LargeValue {
		resp.Arena, err = mem.Room(resp.Arena, len(key)+len(value))
	}
	if err == nil {
		resp.Append(key, value)
	}
	return err
}
