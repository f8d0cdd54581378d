package exec

import (
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Writes reports whether the statement writes rows; its effects are complete
// after the first Next that is given a limit.
func (p *Program) Writes() bool { return p.mod != nil }

// Drain returns copies of the rows of first, which Next returned, and of all
// that follow: for callers that must not hand out rows before the end.
func (p *Program) Drain(first *Batch) ([]types.Row, error) {
	var out []types.Row
	var text arena
	var acc quota.Account
	acc.Init(p.run.Mem)
	defer acc.Close()
	for b := first; b.Len() > 0; {
		for i := range b.Len() {
			row := slices.Clone(b.Row(i))
			for j := range row {
				var err error
				if row[j], err = text.copyDatum(row[j], &acc); err != nil {
					return nil, err
				}
			}
			out = append(out, row)
		}
		var err error
		if b, err = p.Next(BatchRows); err != nil {
			return nil, err
		}
	}
	return out, nil
}
