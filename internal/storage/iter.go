package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/cockroachkvs"

	"github.com/lichendb/lichen/internal/hlc"
)

// Iterator walks engine keys in order. It sees the engine as it was when the
// iterator was opened, and keeps that state alive: close it soon.
type Iterator = pebble.Iterator

// IterOptions bound an iterator. The bounds are user keys.
type IterOptions struct {
	// Lower is the first key and Upper the first key that is not seen; nil means
	// no bound.
	Lower, Upper []byte
	// MinWall and MaxWall, if MaxWall is not 0, let the iterator pass over blocks
	// that hold no version with a wall time between them, both included. Other
	// versions may be seen all the same; unversioned keys may not.
	MinWall, MaxWall int64
}

// Reader is where iterators and unversioned keys are read from: the engine as
// it is, or what of it is durable.
type Reader interface {
	// NewIter opens an iterator, to be closed by the caller.
	NewIter(IterOptions) (*Iterator, error)
	// GetUnversioned appends the value of an unversioned key to buf and reports
	// whether the key exists.
	GetUnversioned(key, buf []byte) (value []byte, found bool, err error)
}

var (
	_ Reader = (*Engine)(nil)
	_ Reader = (*DurableReader)(nil)
)

// NewIter opens an iterator on the present state.
func (e *Engine) NewIter(o IterOptions) (*Iterator, error) { return e.newIter(o, false) }

// GetUnversioned appends the value of an unversioned key to buf and reports
// whether the key exists.
func (e *Engine) GetUnversioned(key, buf []byte) (value []byte, found bool, err error) {
	if !e.BeginRead() {
		return buf, false, ErrClosed
	}
	defer e.EndRead()
	it, err := e.AcquirePoint()
	if err != nil {
		return buf, false, err
	}
	defer it.Release()
	if it.SeekVersion(key, hlc.Timestamp{}) && len(it.Key()) == len(it.KeyBuf) {
		v, err := it.ValueAndErr()
		if err != nil {
			return buf, false, err
		}
		return append(buf, v...), true, nil
	}
	return buf, false, e.ReadError(it.Error())
}

// DurableReader reads only what a crash at this moment would leave behind: a
// prefix of the order of commits.
type DurableReader struct{ e *Engine }

// NewDurableReader returns a reader of the durable state. Each read sees the
// state at its own moment, never an older one than the read before.
func (e *Engine) NewDurableReader() *DurableReader { return &DurableReader{e: e} }

// NewIter opens an iterator on the durable state.
func (r *DurableReader) NewIter(o IterOptions) (*Iterator, error) { return r.e.newIter(o, true) }

// GetUnversioned appends the durable value of an unversioned key to buf and
// reports whether the key exists.
func (r *DurableReader) GetUnversioned(key, buf []byte) (value []byte, found bool, err error) {
	it, err := r.e.newIter(IterOptions{}, true)
	if err != nil {
		return buf, false, err
	}
	ek := AppendEngineKey(nil, key, hlc.Timestamp{})
	if it.SeekPrefixGE(ek) && len(it.Key()) == len(ek) {
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			buf, found = append(buf, v...), true
		}
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return buf, false, r.e.readError(err)
	}
	return buf, found, nil
}

func (e *Engine) newIter(o IterOptions, durable bool) (*Iterator, error) {
	opts := pebble.IterOptions{OnlyReadGuaranteedDurable: durable}
	var scratch [128]byte
	buf := scratch[:0]
	if o.Lower != nil {
		buf = AppendEngineKey(buf, o.Lower, hlc.Timestamp{})
		opts.LowerBound = buf
	}
	if o.Upper != nil {
		n := len(buf)
		buf = AppendEngineKey(buf, o.Upper, hlc.Timestamp{})
		opts.UpperBound = buf[n:]
	}
	if o.MaxWall != 0 {
		filters := make([]pebble.BlockPropertyFilter, 1, 2)
		filters[0] = cockroachkvs.NewMVCCTimeIntervalFilter(uint64(o.MinWall), uint64(o.MaxWall))
		opts.PointKeyFilters = filters
	}
	it, err := e.openIter(&opts)
	if err != nil {
		return nil, e.readError(err)
	}
	return it, nil
}

// BeginRead keeps Close waiting until EndRead, which must be called soon. It returns false if the engine
// is closed.
func (e *Engine) BeginRead() bool {
	e.reading.Add(1)
	if e.closed.Load() {
		e.EndRead()
		return false
	}
	return true
}

// EndRead ends what BeginRead began.
func (e *Engine) EndRead() {
	if e.reading.Add(-1) == 0 && e.closed.Load() {
		select {
		case e.unread <- struct{}{}:
		default:
		}
	}
}

// awaitReads waits until nobody reads a key: Pebble must not be closed under them.
func (e *Engine) awaitReads() {
	for e.reading.Load() > 0 {
		<-e.unread
	}
}

func (e *Engine) openIter(o *pebble.IterOptions) (it *pebble.Iterator, err error) {
	defer refuseClosed(&err)
	return e.db.NewIter(o)
}

// refuseClosed turns Pebble's panic about a closed store into ErrClosed: a read that was on
// its way when the node stopped is no bug.
func refuseClosed(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		if !errors.Is(p, pebble.ErrClosed) {
			panic(p)
		}
		*err = ErrClosed
	default:
		panic(p)
	}
}

// ReadError turns an error of an iterator into one of this package: damage that
// a checksum showed is ErrCorrupted.
func (e *Engine) ReadError(err error) error {
	if err == nil {
		return nil
	}
	return e.readError(err)
}

func (e *Engine) readError(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", ErrCorrupted, err)
	}
	return fmt.Errorf("storage: read: %w", err)
}
