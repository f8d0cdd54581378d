package notify

import (
	"encoding/binary"
	"errors"
)

// entryVersion is the version of the format of entries.
const entryVersion = 1

// maxEntryBytes bounds the notifications of one entry, but for the last of them.
const maxEntryBytes = 128 << 10

// errEntry is the error of bytes that are no entry of this version.
var errEntry = errors.New("an entry of the notification queue has an unknown format")

// message is one notification as its transaction sent it.
type message struct{ channel, payload string }

func (m message) size() int { return len(m.channel) + len(m.payload) + 4 }

// entry is what a transaction writes under one key. A transaction with many notifications writes several, which
// number numbers.
type entry struct {
	database uint64
	pid      int32
	number   uint64
	messages []message
}

func (e *entry) encode() []byte {
	b := append(make([]byte, 0, 64), entryVersion)
	b = binary.AppendUvarint(b, e.database)
	b = binary.AppendUvarint(b, uint64(uint32(e.pid)))
	b = binary.AppendUvarint(b, e.number)
	b = binary.AppendUvarint(b, uint64(len(e.messages)))
	for _, m := range e.messages {
		b = appendText(appendText(b, m.channel), m.payload)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeEntry reads what encode made.
func decodeEntry(b []byte) (e entry, err error) {
	if len(b) == 0 || b[0] != entryVersion {
		return e, errEntry
	}
	r := reader{b: string(b[1:])}
	e.database, e.pid, e.number = r.uvarint(), int32(r.uvarint()), r.uvarint()
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		return e, errEntry
	}
	if n > 0 {
		e.messages = make([]message, 0, n)
	}
	for range n {
		e.messages = append(e.messages, message{r.text(), r.text()})
	}
	if r.bad || r.b != "" {
		return e, errEntry
	}
	return e, nil
}

// reader reads the fields of an entry.
type reader struct {
	b   string
	bad bool
}

func (r *reader) uvarint() (v uint64) {
	for shift := 0; shift < 64 && len(r.b) > 0; shift += 7 {
		c := r.b[0]
		r.b = r.b[1:]
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return v
		}
	}
	r.bad, r.b = true, ""
	return 0
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, ""
		return ""
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

// split divides the messages of a transaction into entries.
func split(database uint64, pid int32, all []message) (entries []entry) {
	for first := true; first || len(all) > 0; first = false {
		n, size := 0, 0
		for n < len(all) && size <= maxEntryBytes {
			size += all[n].size()
			n++
		}
		entries = append(entries, entry{database, pid, uint64(len(entries)), all[:n]})
		all = all[n:]
	}
	return entries
}
