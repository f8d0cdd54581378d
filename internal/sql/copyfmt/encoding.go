package copyfmt

import (
	"errors"
	"io"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/types"
)

// decoder converts chunks of data to UTF8. What of a character comes with the next chunk it
// keeps until then.
type decoder struct {
	encoding *charset.Encoding
	fc       *types.FormatContext // may be nil
	next     func() ([]byte, error)
	part     []byte // of a character
	in, out  []byte
}

// chunk returns the next chunk, as the function does that it takes them from.
func (d *decoder) chunk() ([]byte, error) {
	for {
		p, err := d.next()
		if errors.Is(err, io.EOF) && len(d.part) > 0 {
			d.out, err = d.encoding.Decode(d.out[:0], d.part, d.fc)
			d.part = d.part[:0]
			return d.out, err
		}
		if err != nil {
			return nil, err
		}
		d.in = append(append(d.in[:0], d.part...), p...)
		whole := d.encoding.Whole(d.in)
		d.part = append(d.part[:0], d.in[whole:]...)
		if d.out, err = d.encoding.Decode(d.out[:0], d.in[:whole], d.fc); err != nil || len(d.out) > 0 {
			return d.out, err
		}
	}
}
