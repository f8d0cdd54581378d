package timeseries

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

const (
	// Step is how often rows are meant to be appended.
	Step = 10 * time.Second
	// DefaultRetain is how long rows are kept.
	DefaultRetain = 7 * 24 * time.Hour
	// fileSpan is how long a file is written. maxFiles bounds the files, those of restarts included.
	fileSpan = 6 * time.Hour
	maxFiles = 128

	prefix, suffix = "metrics-", ".ts"
)

// Options are the parameters of Open.
type Options struct {
	FS  fs.FS
	Dir string // made if need be
	// Retain is how long rows are kept; 0: DefaultRetain.
	Retain time.Duration
}

// DB has the metrics of a node.
type DB struct {
	o Options

	mu      sync.Mutex
	file    fs.File // nil: none is written
	path    string
	began   time.Time
	names   []string
	state   state
	payload []byte
	row     []byte
}

// Open opens the metrics in a directory.
func Open(o Options) (*DB, error) {
	if o.Retain == 0 {
		o.Retain = DefaultRetain
	}
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of metrics: %w", err)
	}
	return &DB{o: o}, nil
}

// Append adds a row. After an error a later row begins a new file.
func (d *DB) Append(at time.Time, names []string, values []float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != nil && (!slices.Equal(names, d.names) || at.Sub(d.began) >= fileSpan || at.Before(d.began)) {
		if err := d.closeLocked(); err != nil {
			return err
		}
	}
	if d.file == nil {
		if err := d.create(at, names); err != nil {
			return err
		}
	}
	d.payload = d.state.encode(d.payload[:0], at.UnixMilli(), values)
	d.row = appendRow(d.row[:0], d.payload)
	if _, err := d.file.Write(d.row); err != nil {
		_ = d.closeLocked() // the error of the write tells more
		return err
	}
	return nil
}

// create begins a file, and removes old ones.
func (d *DB) create(at time.Time, names []string) error {
	d.prune(at)
	path := d.o.FS.PathJoin(d.o.Dir, prefix+strconv.FormatInt(at.UnixMilli(), 10)+suffix)
	f, err := d.o.FS.Create(path, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(header(names)); err != nil {
		_ = f.Close() // the error of the write tells more
		return err
	}
	d.file, d.path, d.began, d.names = f, path, at, slices.Clone(names)
	d.state = state{values: make([]uint64, len(names))}
	return nil
}

// prune removes files that are too old, or too many. What can't be removed is tried again with the next file.
func (d *DB) prune(now time.Time) {
	list, err := d.files()
	if err != nil {
		return
	}
	for i, f := range list {
		end := now
		if i+1 < len(list) {
			end = list[i+1].began
		}
		if now.Sub(end) > d.o.Retain || len(list)-i >= maxFiles {
			_ = d.o.FS.Remove(f.path)
		}
	}
}

// metricsFile is a file, by its name.
type metricsFile struct {
	path  string
	began time.Time
}

// files lists the files, the oldest first.
func (d *DB) files() ([]metricsFile, error) {
	names, err := d.o.FS.List(d.o.Dir)
	if err != nil {
		return nil, err
	}
	var out []metricsFile
	for _, n := range names {
		text, ok := strings.CutSuffix(n, suffix)
		text, begins := strings.CutPrefix(text, prefix)
		ms, err := strconv.ParseInt(text, 10, 64)
		if !ok || !begins || err != nil {
			continue
		}
		out = append(out, metricsFile{d.o.FS.PathJoin(d.o.Dir, n), time.UnixMilli(ms)})
	}
	slices.SortFunc(out, func(a, b metricsFile) int { return a.began.Compare(b.began) })
	return out, nil
}

func (d *DB) closeLocked() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	return err
}

// Close closes the file that is written.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closeLocked()
}
