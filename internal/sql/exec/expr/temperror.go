package expr

import (
	"errors"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/tempstore"
)

// TempError returns what the client sees of an error of a temporary file, nil for none.
func TempError(err error) error {
	var full *tempstore.FullError
	var e *pgerr.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.As(err, &full) && full.Limit > 0:
		e = pgerr.New(pgerr.DiskFull, "could not write to a temporary file: all of them together may take %d bytes", full.Limit).
			WithHint("Make the query keep fewer rows, or raise --max-disk-temp-storage.")
	case errors.As(err, &full):
		e = pgerr.New(pgerr.DiskFull, "could not write to a temporary file: the disk is full").
			WithHint("Free disk space, or make the query keep fewer rows.")
	case errors.Is(err, tempstore.ErrTooManyFiles):
		e = pgerr.New(pgerr.ConfigurationLimitExceeded, "could not create a temporary file: %s", err.Error()).
			WithHint("Run fewer large queries at the same time, or raise work_mem.")
	default:
		e = pgerr.New(pgerr.IOError, "could not access a temporary file: %s", err.Error())
	}
	e.Cause = err
	return e
}
