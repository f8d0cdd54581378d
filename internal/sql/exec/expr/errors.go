package expr

import (
	"errors"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MemoryError turns a refusal of the memory accounts into 53200.
func MemoryError(err error) error {
	var ex *quota.ExceededError
	if !errors.As(err, &ex) {
		return err
	}
	e := pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("Failed on request of %d bytes: the memory limit of the %s is %d bytes, %d are in use.",
			ex.Requested, ex.Pool, ex.Limit, ex.Used).
		WithHint("Make the query keep fewer rows, or raise --max-memory.")
	e.Cause = err
	return e
}
