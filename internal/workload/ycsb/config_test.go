package ycsb

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestParseProperties(t *testing.T) {
	p := Properties{}
	err := p.parse("# comment\n! another\r\nrecordcount=1000\n  spaced : value here  \nname value\n" +
		"long=one,\\\n   two\nurl=jdbc\\:postgresql\\://h/db\nempty=\nbare\nuni=\\u00e9\\t|\nkey\\ with\\=odd=1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Properties{"recordcount": "1000", "spaced": "value here", "name": "value", "long": "one,two",
		"url": "jdbc:postgresql://h/db", "empty": "", "bare": "", "uni": "é\t|", "key with=odd": "1"}
	if !maps.Equal(p, want) {
		t.Errorf("got %q\nwant %q", p, want)
	}
	if err := p.parse("a=1\nb=\\u12"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("malformed escape: %v", err)
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		files, options, flags Properties
		want                  Properties
	}{
		{"workload A without a word", nil, nil, Properties{"recordcount": "5"},
			Properties{"readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian", "recordcount": "5", "operationcount": "1000"}},
		{"files describe the mix", Properties{"readproportion": "1", "workload": "site.ycsb.workloads.CoreWorkload"}, nil, nil,
			Properties{"readproportion": "1", "workload": "site.ycsb.workloads.CoreWorkload"}},
		{"a named workload overrides files, not their counts", Properties{"recordcount": "7", "readproportion": "0.1"}, nil, Properties{"workload": "C"},
			Properties{"recordcount": "7", "operationcount": "1000", "readproportion": "1", "updateproportion": "0", "requestdistribution": "zipfian", "workload": "C"}},
		{"options override the workload, flags options", nil, Properties{"workload": "c", "requestdistribution": "uniform", "recordcount": "2"}, Properties{"recordcount": "3"},
			Properties{"recordcount": "3", "operationcount": "1000", "readproportion": "1", "updateproportion": "0", "requestdistribution": "uniform", "workload": "c"}},
	} {
		got, err := Merge(tc.files, tc.options, tc.flags)
		if err != nil || !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, %v\nwant %v", tc.name, got, err, tc.want)
		}
	}
	if _, err := Merge(nil, nil, Properties{"workload": "G"}); err == nil {
		t.Error("workload G exists")
	}
}

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig(Properties{"recordcount": "100", "insertstart": "20", "insertcount": "30", "maxexecutiontime": "1.5",
		"db.driver": "org.postgresql.Driver", "jdbc.autocommit": "true", "measurementtype": "histogram", "hdrhistogram.percentiles": "95, 99.9"})
	if err != nil {
		t.Fatal(err)
	}
	if c.InsertStart != 20 || c.InsertCount != 30 || c.MaxTime != 1500*time.Millisecond || c.Fields != 10 || c.Distribution != "uniform" {
		t.Errorf("%+v", c)
	}
	if got := strings.Join(c.Ignored, " "); got != "db.driver jdbc.autocommit measurementtype=histogram" {
		t.Errorf("ignored: %s", got)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"recordcont", "5", "unknown property: recordcont"},
		{"recordcount", "-1", "whole number"},
		{"readallfields", "maybe", "true or false"},
		{"requestdistribution", "zipf", "uniform, zipfian"},
		{"threadcount", "0", "from 1"},
		{"readproportion", "NaN", "from 0"},
		{"table", "x; drop table y", "invalid name"},
		{"insertcount", "5", "recordcount (0) must be at least"},
		{"measurementtype", "timeseries", "hdrhistogram"},
		{"hdrhistogram.percentiles", "95,101", "from 0 to 100"},
		{"minscanlength", "2000", "must not be above"},
	} {
		_, err := ParseConfig(Properties{tc.name: tc.value})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v, want %q", tc.name, tc.value, err, tc.want)
		}
	}
	for _, bad := range []Config{{}, {InsertCount: 1, Operations: 1}, {InsertCount: 1, Mix: Mix{Read: 1}}} {
		if bad.ValidateRun() == nil {
			t.Errorf("%+v can run", bad)
		}
	}
}

func TestStatements(t *testing.T) {
	c := &Config{Table: "s.t", FieldPrefix: "f", Fields: 2}
	for got, want := range map[string]string{
		c.createTable(false): "CREATE TABLE IF NOT EXISTS s.t (ycsb_key VARCHAR(255) PRIMARY KEY, f0 TEXT, f1 TEXT)",
		c.createTable(true): "CREATE TABLE IF NOT EXISTS s.t (ycsb_key VARCHAR(255) PRIMARY KEY, f0 TEXT, f1 TEXT, " +
			"FAMILY (ycsb_key), FAMILY (f0), FAMILY (f1))",
		c.insertSQL(2): "INSERT INTO s.t (ycsb_key, f0, f1) VALUES ($1, $2, $3), ($4, $5, $6)",
		c.columns(-1):  "*",
		c.columns(1):   "f1",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := string(c.expected("user1", 1, 30)); len(got) != 30 || !strings.HasPrefix(got, "user1:f1:") {
		t.Errorf("expected: %q", got)
	}
}
