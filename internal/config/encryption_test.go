package config

import (
	"strings"
	"testing"
	"time"
)

// TestEncryption reads --encryption, and refuses what it can't mean.
func TestEncryption(t *testing.T) {
	e, err := ParseEncryption("path=a,key=k,old-key=o,rotation-period=2h")
	if err != nil || e != (Encryption{"a", "k", "o", 2 * time.Hour}) {
		t.Errorf("%+v %v", e, err)
	}
	if e, err = ParseEncryption("path=*,key=k"); err != nil || e.OldKey != PlainKey {
		t.Errorf("%+v %v", e, err)
	}
	for flag, want := range map[string]string{
		"":                                   "no value",
		"path=a":                             "path and key are needed",
		"key=k":                              "path and key are needed",
		"path=a,key=k,key=l":                 "there twice",
		"path=a,key=k,size=1":                `"size" is unknown`,
		"path=a,key=k,rotation-period=1ms":   "less than 1s",
		"path=a,key=k,rotation-period=week":  "invalid duration",
		"path=a,key=plain":                   "needs its key",
		"path=a,key=k,rotation-period=":      "no value",
		"path=a,key=plain,old-key=plain,x=y": "unknown",
	} {
		if _, err := ParseEncryption(flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	n := Default()
	n.Stores = Dirs("a", "b")
	for want, list := range map[string][]Encryption{
		"":      {{Path: "a"}, {Path: "b"}},
		"twice": {{Path: "a"}, {Path: "*"}},
		"names": {{Path: "c"}},
	} {
		n.Encryption = list
		if err := n.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", list, err)
		}
	}
	n.Encryption = []Encryption{{Path: "b", Key: "k"}}
	if n.EncryptionOf("a") != nil || n.EncryptionOf("b") == nil {
		t.Error("b is encrypted, a is not")
	}
}
