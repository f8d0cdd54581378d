package copyfmt

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// chunks cuts s into chunks that are overwritten when the next is asked for, as
// a connection's buffer is.
func chunks(s string, size int) func() ([]byte, error) {
	var buf []byte
	return func() ([]byte, error) {
		for i := range buf {
			buf[i] = '#'
		}
		if s == "" {
			return nil, io.EOF
		}
		n := min(size, len(s))
		buf = append(buf[:0], s[:n]...)
		s = s[n:]
		return buf, nil
	}
}

func TestOptions(t *testing.T) {
	cases := []struct {
		set  string // name=value, separated by blanks
		from bool
		code pgerr.Code
	}{
		{"", true, ""}, {"format=csv header=match", true, ""}, {"format=csv header=match", false, pgerr.FeatureNotSupported},
		{"format=xml", true, pgerr.InvalidParameterValue}, {"format=binary", true, ""},
		{"format=csv format=csv", true, pgerr.SyntaxError}, {"compress=1", true, pgerr.SyntaxError},
		{"header=maybe", true, pgerr.SyntaxError}, {"delimiter=a", true, pgerr.InvalidParameterValue},
		{"delimiter=\n", true, pgerr.InvalidParameterValue}, {"delimiter=||", true, pgerr.FeatureNotSupported},
		{"delimiter=", true, pgerr.FeatureNotSupported}, {"null=\r", true, pgerr.InvalidParameterValue},
		{"null=a,b delimiter=,", true, pgerr.FeatureNotSupported}, {"quote='", true, pgerr.FeatureNotSupported},
		{"escape='", true, pgerr.FeatureNotSupported}, {"format=csv quote=,", true, pgerr.InvalidParameterValue},
		{"format=csv quote=''", true, pgerr.FeatureNotSupported}, {"format=csv escape=''", true, pgerr.FeatureNotSupported},
		{"format=csv null=\"", true, pgerr.FeatureNotSupported}, {"format=csv delimiter=a", true, ""},
		{"force_quote", false, pgerr.FeatureNotSupported}, {"format=csv force_quote", false, ""},
		{"format=csv force_quote", true, pgerr.FeatureNotSupported}, {"format=csv force_null", true, ""},
		{"format=csv force_null", false, pgerr.FeatureNotSupported}, {"force_null", true, pgerr.FeatureNotSupported},
		{"format=csv force_not_null", false, pgerr.FeatureNotSupported}, {"force_not_null", true, pgerr.FeatureNotSupported},
	}
	for _, c := range cases {
		o := &Options{}
		var err error
		for _, kv := range strings.Split(c.set, " ") {
			name, value, ok := strings.Cut(kv, "=")
			switch {
			case kv == "" || err != nil:
			case !ok:
				o.SetColumns(name, []bool{true})
			default:
				err = o.Set(name, value)
			}
		}
		if err == nil {
			err = o.Validate(c.from)
		}
		if pgerr.CodeOf(err) != c.code {
			t.Errorf("%q: %v, want %q", c.set, err, c.code)
		}
	}
}

func TestForceQuote(t *testing.T) {
	o := &Options{}
	_ = o.Set("format", "csv")
	o.SetColumns("force_quote", []bool{true, false})
	if err := o.Validate(false); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(o, columns(t, "a int, b int"), nil)
	if got := line(t, w, []types.Datum{types.NewInt(1), types.NewInt(2)}); got != "\"1\",2\n" {
		t.Errorf("got %q", got)
	}
	if got := line(t, w, []types.Datum{types.Null, types.Null}); got != ",\n" {
		t.Errorf("got %q", got)
	}
}

func TestErrorOfSource(t *testing.T) {
	fail := pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: enough")
	o := &Options{}
	if err := o.Validate(true); err != nil {
		t.Fatal(err)
	}
	sent := false
	r := NewReader(o, columns(t, "a int"), nil, func() ([]byte, error) {
		if sent {
			return nil, fail
		}
		sent = true
		return []byte("1\n2"), nil
	})
	r.Table = "t"
	row := make([]types.Datum, 1)
	if ok, err := r.NextRow(row); !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err := r.NextRow(row)
	if e := pgerr.From(r.Locate(err)); e.Code != pgerr.QueryCanceled || e.Context != "COPY t, line 2" {
		t.Errorf("%v, context %q", e, e.Context)
	}
	if fail.Context != "" {
		t.Error("the error of the source was changed")
	}
	if got := r.Locate(io.ErrUnexpectedEOF); got != io.ErrUnexpectedEOF {
		t.Errorf("foreign error became %v", got)
	}
}

func TestDrainAfterMarker(t *testing.T) {
	o := &Options{}
	if err := o.Validate(true); err != nil {
		t.Fatal(err)
	}
	next := chunks("1\n\\.\n"+strings.Repeat("junk", 100), 3)
	ended := false
	r := NewReader(o, columns(t, "a int"), nil, func() ([]byte, error) {
		b, err := next()
		ended = err == io.EOF
		return b, err
	})
	row := make([]types.Datum, 1)
	for i, want := range []bool{true, false, false} {
		if ok, err := r.NextRow(row); ok != want || err != nil {
			t.Fatal(i, ok, err)
		}
	}
	if !ended {
		t.Error("the source was not read to its end")
	}
}

func accounts(n int) (string, []plan.Column) {
	cols := []plan.Column{
		{Name: "aid", Type: types.Int4}, {Name: "bid", Type: types.Int4}, {Name: "abalance", Type: types.Int4},
		{Name: "filler", Type: types.Text},
	}
	return strings.Repeat("123456\t1\t0\tsome filler text\n", n), cols
}

func TestReaderAllocs(t *testing.T) {
	text, cols := accounts(1000)
	o := &Options{}
	_ = o.Validate(true)
	data := []byte(text)
	row := make([]types.Datum, 4)
	allocs := testing.AllocsPerRun(5, func() {
		r := NewReader(o, cols, nil, once(data))
		for n := 0; ; n++ {
			r.Forget()
			if ok, err := r.NextRow(row); !ok {
				if err != nil || n != 1000 {
					t.Fatal(n, err)
				}
				return
			}
		}
	})
	if allocs > 20 {
		t.Errorf("%v allocations for 1000 rows", allocs)
	}
}

func once(data []byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if data == nil {
			return nil, io.EOF
		}
		d := data
		data = nil
		return d, nil
	}
}

func BenchmarkReader(b *testing.B) {
	text, cols := accounts(1000)
	o := &Options{}
	_ = o.Validate(true)
	data := []byte(text)
	row := make([]types.Datum, 4)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		r := NewReader(o, cols, nil, once(data))
		for {
			if ok, _ := r.NextRow(row); !ok {
				break
			}
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkWriter(b *testing.B) {
	_, cols := accounts(1)
	o := &Options{}
	_ = o.Validate(false)
	w := NewWriter(o, cols, types.NewFormatContext())
	row := []types.Datum{types.NewInt(123456), types.NewInt(1), types.NewInt(0), types.NewString("some filler text")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Row(row); err != nil {
			b.Fatal(err)
		}
	}
}

// The part of a long line that has come stays where it is while more comes.
func TestLongLinesAreNotMoved(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 100)
	l := lineReader{next: func() ([]byte, error) { return chunk, nil }}
	for range 2 {
		if err := l.fill(); err != nil {
			t.Fatal(err)
		}
	}
	l.buf = slices.Grow(l.buf, len(chunk))
	l.rest = l.buf
	if n := testing.AllocsPerRun(10, func() { _ = l.keepRest() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if &l.rest[0] != &l.buf[0] || len(l.rest) != 2*len(chunk) {
		t.Error("the line was moved or lost")
	}
	// What follows a line in buf goes to its beginning.
	l.rest = l.buf[len(chunk)/2:]
	if err := l.keepRest(); err != nil || &l.rest[0] != &l.buf[0] || len(l.rest) != 3*len(chunk)/2 {
		t.Errorf("%d bytes are left: %v", len(l.rest), err)
	}
}
