package ttl

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func TestSchedule(t *testing.T) {
	at := time.Date(2024, 2, 28, 13, 5, 30, 0, time.UTC) // a Wednesday
	for text, want := range map[string]string{
		"@hourly": "2024-02-28 14:00", "@daily": "2024-02-29 00:00", "@weekly": "2024-03-03 00:00", "@monthly": "2024-03-01 00:00",
		"@yearly": "2025-01-01 00:00", "* * * * *": "2024-02-28 13:06", "*/15 * * * *": "2024-02-28 13:15", "5 13 * * *": "2024-02-29 13:05",
		"0 0 29 2 *": "2024-02-29 00:00", "0 12 * * mon-fri": "2024-02-29 12:00", "0 12 1 * fri": "2024-03-01 12:00", "30 4 13 * 5": "2024-03-01 04:30",
		"0 0 * * 7": "2024-03-03 00:00", "1,2 3-4 * jan *": "2025-01-01 03:01", "5/20 * * * *": "2024-02-28 13:25", "@every 90s": "2024-02-28 13:07",
		"0 0 31 2 *": "none", "0 0 30 4,6 ?": "2024-04-30 00:00",
	} {
		s, err := ParseSchedule(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := "none"
		if next, ok := s.Next(at); ok {
			if !next.After(at) {
				t.Errorf("%s: %v is not after %v", text, next, at)
			}
			got = next.Format("2006-01-02 15:04")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "@never", "@every x", "@every 1ms", "1- * * * *"} {
		if _, err := ParseSchedule(bad); err == nil {
			t.Errorf("%q is taken for a schedule", bad)
		}
	}
}

func TestParams(t *testing.T) {
	var options []string
	for _, p := range [][2]string{{"ttl", "true"}, {After, "90 minutes"}, {cron, "@hourly"}, {pause, "yes"}, {selectSize, "7"}, {deleteSize, "8"}, {selectRate, "9"}, {deleteRate, "10"}} {
		v, err := Check(p[0], p[1])
		if err != nil {
			t.Fatalf("%s: %v", p[0], err)
		}
		options = append(options, p[0]+"="+v)
	}
	p, ok := Of(options)
	if want := (Params{ExpireAfter: "01:30:00", Cron: "@hourly", Pause: true, SelectBatch: 7, DeleteBatch: 8, SelectRate: 9, DeleteRate: 10}); !ok || p != want {
		t.Errorf("%+v", p)
	}
	if p.Expires() != Column {
		t.Errorf("expires by %s", p.Expires())
	}
	if p, ok := Of([]string{"fillfactor=70", Expression + "=a + b"}); !ok || p.Expires() != "a + b" || p.Cron != defaultCron {
		t.Errorf("%+v", p)
	}
	if _, ok := Of([]string{"ttl=on", cron + "=@daily"}); ok {
		t.Error("rows expire at no time")
	}
	for name, value := range map[string]string{
		"ttl": "off", After: "x", Expression: " ", cron: "x", pause: "x", selectSize: "0", deleteSize: "-1", selectRate: "x", "ttl_x": "1",
		"ttl_label_metrics": "true",
	} {
		if _, err := Check(name, value); err == nil {
			t.Errorf("%s takes %s", name, value)
		}
	}
	if _, err := Check(After, "-1s"); pgerr.From(err).Message != `value of "ttl_expire_after" must be at least zero` {
		t.Error(err)
	}
}
