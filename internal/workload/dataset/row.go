package dataset

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Row is a row under construction: a source of random values of its own, and the
// values that it has so far as a line of COPY's text format.
type Row struct {
	*rand.Rand
	// N is the row's number in its table, from 1.
	N     int64
	text  []byte
	begun bool // it has a value
}

// newRow starts a row whose random values depend on the arguments only.
func newRow(text []byte, seed uint64, table string, n int64) *Row {
	h := fnv.New64a()
	h.Write([]byte(table)) // never fails
	return &Row{Rand: rand.New(rand.NewPCG(seed^h.Sum64(), uint64(n))), N: n, text: text}
}

func (r *Row) next() {
	if r.begun {
		r.text = append(r.text, '\t')
	}
	r.begun = true
}

// Int appends an integer.
func (r *Row) Int(n int64) {
	r.next()
	r.text = strconv.AppendInt(r.text, n, 10)
}

var copyEscape = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// Text appends a text.
func (r *Row) Text(s string) {
	r.next()
	r.text = append(r.text, copyEscape.Replace(s)...)
}

// Cents appends an amount of money as a decimal.
func (r *Row) Cents(n int64) {
	r.next()
	r.text = strconv.AppendInt(r.text, n/100, 10)
	r.text = append(r.text, '.', byte('0'+n/10%10), byte('0'+n%10))
}

// Time appends a timestamp.
func (r *Row) Time(t time.Time) {
	r.next()
	r.text = t.AppendFormat(r.text, "2006-01-02 15:04:05")
}

// Date appends a date.
func (r *Row) Date(t time.Time) {
	r.next()
	r.text = t.AppendFormat(r.text, time.DateOnly)
}

// Null appends a NULL.
func (r *Row) Null() {
	r.next()
	r.text = append(r.text, `\N`...)
}

// Upto returns a number between 1 and n.
func (r *Row) Upto(n int64) int64 { return 1 + r.Int64N(n) }

// Pick returns one of several texts.
func (r *Row) Pick(texts []string) string { return texts[r.IntN(len(texts))] }

// Within returns a time within d after t, in whole seconds.
func (r *Row) Within(t time.Time, d time.Duration) time.Time {
	return t.Add(time.Duration(r.Int64N(int64(d/time.Second))) * time.Second)
}
