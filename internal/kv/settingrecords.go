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

// Settings reads the stored cluster settings as the transaction sees them, by name. Package
// config/setting gives them their meaning.
func Settings(ctx context.Context, t *Txn) (map[string]string, error) {
	out := map[string]string{}
	span := keys.SystemSpan(settingPrefix)
	err := Each(ctx, t, span, func(key, value []byte) (bool, error) {
		if len(value) == 0 || value[0] != settingVersion {
			return false, fmt.Errorf("the record of a cluster setting at %s has an unknown format", keys.Pretty(key))
		}
		out[string(key[len(span.Start):])] = string(value[1:])
		return true, nil
	})
	return out, err
}

// PutSetting stores a cluster setting.
func PutSetting(t *Txn, name, text string) error {
	return t.Put(keys.SystemKey(settingPrefix+name), append([]byte{settingVersion}, text...))
}

// DeleteSetting returns a cluster setting to its default.
func DeleteSetting(t *Txn, name string) error {
	return t.Delete(keys.SystemKey(settingPrefix + name))
}
