package kv

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
)

// settingPrefix names the records of cluster settings: the setting's name follows. The
// value is settingVersion and the text of the setting's value.
const (
	settingPrefix  = "setting/"
	settingVersion = 1
)

// Settings reads the stored cluster settings as the transaction sees them, by name. What
// they mean package config/setting says.
func Settings(ctx context.Context, t *Txn) (map[string]string, error) {
	out := map[string]string{}
	span := keys.SystemSpan(settingPrefix)
	var page ScanResult
	for start := span.Start; start != nil; {
		if err := t.Scan(ctx, start, span.End, ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			k, v := page.Key(i), page.Value(i)
			if len(v) == 0 || v[0] != settingVersion {
				return nil, fmt.Errorf("the record of a cluster setting at %s has an unknown format", keys.Pretty(k))
			}
			out[string(k[len(span.Start):])] = string(v[1:])
		}
		if start = nil; page.Resume != nil {
			start = append([]byte(nil), page.Resume...)
		}
	}
	return out, nil
}

// PutSetting stores a cluster setting.
func PutSetting(t *Txn, name, text string) error {
	return t.Put(keys.SystemKey(settingPrefix+name), append([]byte{settingVersion}, text...))
}

// DeleteSetting returns a cluster setting to its default.
func DeleteSetting(t *Txn, name string) error {
	return t.Delete(keys.SystemKey(settingPrefix + name))
}
