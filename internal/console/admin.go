package console

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/sql/ast"
)

// SettingInfo is a cluster setting.
type SettingInfo struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Default     string `json:"default"`
	Origin      string `json:"origin"`
}

// Settings are the cluster settings.
type Settings struct {
	Settings []SettingInfo `json:"settings"`
}

func getSettings(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, defaultDatabase, "SHOW CLUSTER SETTINGS")
	if err != nil {
		return nil, err
	}
	out := &Settings{Settings: []SettingInfo{}}
	found.each(func(x row) {
		out.Settings = append(out.Settings, SettingInfo{
			Name: x.text("variable"), Value: x.text("value"), Type: x.text("setting_type"), Description: x.text("description"), Default: x.text("default_value"), Origin: x.text("origin"),
		})
	})
	return out, nil
}

// NewSetting is the body of a change of a setting.
type NewSetting struct {
	// Value is the new value; without one the setting goes back to its default.
	Value *string `json:"value"`
}

func putSetting(c *Console, r *request) (any, error) {
	var v NewSetting
	if err := r.read(&v); err != nil {
		return nil, err
	}
	text := "RESET CLUSTER SETTING " + ast.QuoteIdent(r.param("name"))
	if v.Value != nil {
		text = "SET CLUSTER SETTING " + ast.QuoteIdent(r.param("name")) + " = " + quote(*v.Value)
	}
	return nil, c.change(r, r.login, text)
}

// EventInfo is something that happened in the cluster.
type EventInfo struct {
	At      int64  `json:"at"` // milliseconds since 1970
	Node    uint64 `json:"node"`
	Kind    string `json:"kind"`
	User    string `json:"user"`
	Text    string `json:"text"`
	Dropped int64  `json:"dropped"` // events before it that could not be kept
}

// Events are what happened in the cluster, the newest first.
type Events struct {
	Events []EventInfo `json:"events"`
}

func getEvents(c *Console, r *request) (any, error) {
	const usual, most = 200, 2000
	n, err := r.number("limit", usual, 1, most)
	if err != nil {
		return nil, err
	}
	if c.o.Node.SQL.Server() == nil {
		return nil, errNotServing
	}
	list, err := c.o.Events.List(r, eventlog.MaxKept)
	if err != nil {
		return nil, err
	}
	out := &Events{Events: []EventInfo{}}
	const nanosPerMilli = 1e6
	for i := range list {
		e := &list[i]
		if len(out.Events) >= int(n) {
			break
		}
		if !r.login.super && e.User != r.login.user && !strings.HasPrefix(e.Kind, "node_") {
			continue // statements of others may name what is not for everybody
		}
		out.Events = append(out.Events, EventInfo{At: e.At / nanosPerMilli, Node: uint64(e.Node), Kind: e.Kind, User: e.User, Text: e.Text, Dropped: e.Dropped})
	}
	return out, nil
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }
