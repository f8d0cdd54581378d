package zone

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Kind says what a zone belongs to.
type Kind uint8

// The kinds of zones, from the most general to the most specific one.
const (
	KindDefault  Kind = iota + 1 // everything
	KindRange                    // a named part: meta, system
	KindDatabase                 // the keys of a database
	KindTable                    // the keys of a table
	KindIndex                    // the keys of an index
)

// String returns the word of the kind.
func (k Kind) String() string {
	switch k {
	case KindDefault:
		return "default"
	case KindRange:
		return "range"
	case KindDatabase:
		return "database"
	case KindTable:
		return "table"
	case KindIndex:
		return "index"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Record is what is stored under the start key of a zone: where it ends, what it
// belongs to, and its own configuration, not resolved.
type Record struct {
	End    []byte
	Kind   Kind
	Config Config
}

// recordVersion is the first byte of a stored record. Fields follow: tag, length,
// content. Tags that are not known are of later versions and are skipped.
const recordVersion = 1

// The tags of the stored fields; a number is never used for anything else.
const (
	tagEnd              = 1
	tagKind             = 2
	tagNumReplicas      = 3
	tagNumVoters        = 4
	tagConstraints      = 5
	tagVoterConstraints = 6
	tagLeasePreferences = 7
	tagRangeMaxBytes    = 8
	tagRangeMinBytes    = 9
	tagGCTTL            = 10 // seconds
)

func appendField(dst []byte, tag uint64, content []byte) []byte {
	dst = binary.AppendUvarint(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(content)))
	return append(dst, content...)
}

func appendNumber(dst []byte, tag uint64, n int64) []byte {
	return appendField(dst, tag, binary.AppendVarint(nil, n))
}

// Encode returns the stored form of a record.
func Encode(r *Record) []byte {
	b := []byte{recordVersion}
	b = appendField(b, tagEnd, r.End)
	b = appendNumber(b, tagKind, int64(r.Kind))
	c := &r.Config
	if c.NumReplicas != nil {
		b = appendNumber(b, tagNumReplicas, int64(*c.NumReplicas))
	}
	if c.NumVoters != nil {
		b = appendNumber(b, tagNumVoters, int64(*c.NumVoters))
	}
	// Lists are stored as the text that SQL shows.
	if c.Constraints != nil {
		b = appendField(b, tagConstraints, []byte(FormatConstraints(c.Constraints)))
	}
	if c.VoterConstraints != nil {
		b = appendField(b, tagVoterConstraints, []byte(FormatConstraints(c.VoterConstraints)))
	}
	if c.LeasePreferences != nil {
		b = appendField(b, tagLeasePreferences, []byte(FormatPreferences(c.LeasePreferences)))
	}
	if c.RangeMaxBytes != nil {
		b = appendNumber(b, tagRangeMaxBytes, *c.RangeMaxBytes)
	}
	if c.RangeMinBytes != nil {
		b = appendNumber(b, tagRangeMinBytes, *c.RangeMinBytes)
	}
	if c.GCTTL != nil {
		b = appendNumber(b, tagGCTTL, int64(*c.GCTTL/time.Second))
	}
	return b
}

var errDamaged = errors.New("damaged zone record")

// Decode reads what Encode wrote. The record shares no memory with b.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) == 0 || b[0] != recordVersion {
		return r, errors.New("a zone record has an unknown format")
	}
	for b = b[1:]; len(b) > 0; {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return r, errDamaged
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return r, errDamaged
		}
		if err := r.decodeField(tag, b[n:n+int(size)]); err != nil {
			return r, err
		}
		b = b[n+int(size):]
	}
	if r.Kind < KindDefault || r.Kind > KindIndex {
		return r, errDamaged
	}
	return r, nil
}

func (r *Record) decodeField(tag uint64, content []byte) (err error) {
	c := &r.Config
	switch tag {
	case tagEnd:
		r.End = append([]byte(nil), content...)
		return nil
	case tagConstraints:
		c.Constraints, err = ParseConstraints(string(content))
		return err
	case tagVoterConstraints:
		c.VoterConstraints, err = ParseConstraints(string(content))
		return err
	case tagLeasePreferences:
		c.LeasePreferences, err = ParsePreferences(string(content))
		return err
	case tagKind, tagNumReplicas, tagNumVoters, tagRangeMaxBytes, tagRangeMinBytes, tagGCTTL:
	default:
		return nil
	}
	v, n := binary.Varint(content)
	if n <= 0 || n != len(content) {
		return errDamaged
	}
	return r.decodeNumber(tag, v)
}

func (r *Record) decodeNumber(tag uint64, v int64) error {
	c := &r.Config
	limit := int64(MaxRangeMaxBytes)
	switch tag {
	case tagKind:
		r.Kind, limit = Kind(v), 255
	case tagNumReplicas:
		c.NumReplicas, limit = ptr(int(v)), MaxReplicas
	case tagNumVoters:
		c.NumVoters, limit = ptr(int(v)), MaxReplicas
	case tagRangeMaxBytes:
		c.RangeMaxBytes = ptr(v)
	case tagRangeMinBytes:
		c.RangeMinBytes = ptr(v)
	case tagGCTTL:
		c.GCTTL, limit = ptr(time.Duration(v)*time.Second), int64(MaxGCTTL/time.Second)
	}
	if v < 0 || v > limit {
		return errDamaged
	}
	return nil
}
