package config

import "testing"

func TestParseStore(t *testing.T) {
	good := map[string]Store{
		"d":                            {Path: "d"},
		"path=/a/b":                    {Path: "/a/b"},
		"path=d,size=1GiB":             {Path: "d", Size: 1 << 30},
		"size=2TB,path=d":              {Path: "d", Size: 2e12},
		"d,size=80%":                   {Path: "d", Share: 0.8},
		"path=d,size=.25":              {Path: "d", Share: 0.25},
		"path=d,size=67108864":         {Path: "d", Size: 64 << 20},
		"path=dir with space,size=0.5": {Path: "dir with space", Share: 0.5},
	}
	for in, want := range good {
		got, err := ParseStore(in)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
		if again, err := ParseStore(got.String()); err != nil || again != got {
			t.Errorf("%q, which is shown as %q: %+v, %v", in, got.String(), again, err)
		}
	}
	for _, in := range []string{"", "path=", "path=d,path=e", "d,e", "path=d,attrs=ssd", "type=mem,size=1GiB", "size=1GiB",
		"d,size=x", "d,size=0", "d,size=120%", "d,size=-1", "d,size=1MiB", "d,size=1GiB,size=2GiB"} {
		if s, err := ParseStore(in); err == nil {
			t.Errorf("%q is taken for %+v", in, s)
		}
	}
}

func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		s    Store
		want int64
	}{{Store{}, 1000}, {Store{Size: 100}, 100}, {Store{Size: 2000}, 1000}, {Store{Share: 0.25}, 250}} {
		if got := c.s.Capacity(1000); got != c.want {
			t.Errorf("%+v: %d; want %d", c.s, got, c.want)
		}
	}
}
