package raftlog

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/fs"
)

// dump describes the segment files for a failed test.
func dump(f fs.FS) string {
	var b strings.Builder
	names, _ := f.List(testDir)
	for _, name := range names {
		slot, ok := parseSegmentName(name)
		if !ok {
			fmt.Fprintf(&b, "%s\n", name)
			continue
		}
		file, err := f.Open(f.PathJoin(testDir, name))
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", name, err)
			continue
		}
		st, _ := file.Stat()
		s := &segment{slot: slot, path: name, file: file, size: st.Size()}
		fr := newFrameReader(s)
		head, _ := fr.at(0, headerBytes)
		id, kind := readHeader(head)
		fmt.Fprintf(&b, "%s size %d id %s kind %d:", name, s.size, id, kind)
		for off := int64(headerBlock); ; {
			info, payload, err := fr.frame(id, off)
			if err != nil || payload == nil {
				other, _ := fr.idAt(off)
				fmt.Fprintf(&b, " end %d (%v, id %s)\n", off, err, other)
				break
			}
			fmt.Fprintf(&b, " @%d", off)
			_ = decodeRecords(payload, info.records, func(r *record) error {
				switch r.typ {
				case recEntries, recMoved:
					fmt.Fprintf(&b, " %d:%d[%d+%d]", r.typ, r.group, r.first, len(r.entries))
				case recFreed:
					fmt.Fprintf(&b, " free(%s)", r.freed)
				case recCheckpoint:
					fmt.Fprintf(&b, " ckpt%v", r.ckpt.segments)
				default:
					fmt.Fprintf(&b, " %d:%d", r.typ, r.group)
				}
				return nil
			})
			off += info.size()
		}
		_ = file.Close()
	}
	return b.String()
}
