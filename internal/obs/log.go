// Package obs holds what the other packages need to be observed: the log files (log.go), whose messages are on channels
// (channels.go), and histograms (histogram.go).
// Metrics are gathered by server, from what the packages export.
//
// It is a leaf. A Log is safe for concurrent use.
package obs

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// MaxLogBytes is the size at which the log file is renamed to a second one,
// which it replaces: logs take at most twice this.
const MaxLogBytes = 64 << 20

// LogName is the file name of the log within its directory.
const LogName = "lichen.log"

// AuditName is the file name of the audit log.
const AuditName = "lichen-audit.log"

// oldSuffix ends the file name of what was written before, once a log was cut off.
const oldSuffix = ".1"

// OldLogName is the file name of what was written to the log before.
const OldLogName = LogName + oldSuffix

// Log is a log file that is cut off at a size.
type Log struct {
	mu   sync.Mutex
	path string
	f    *os.File
	size int64
}

// OpenLog opens the log of a file name in dir, which is made if need be.
func OpenLog(dir, name string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("log directory: %w", err)
	}
	l := &Log{path: filepath.Join(dir, name)}
	return l, l.open()
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	l.f, l.size = f, st.Size()
	return nil
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > MaxLogBytes {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *Log) rotate() error {
	if err := l.f.Close(); err != nil {
		return err
	}
	if err := os.Rename(l.path, l.path+oldSuffix); err != nil {
		return err
	}
	return l.open()
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

// NewLogger returns a logger that writes readable lines to w.
func NewLogger(w io.Writer) *slog.Logger { return NewLoggerWith(w, DefaultLogOptions()) }
