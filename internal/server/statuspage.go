package server

import (
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/lichendb/lichen/internal/node"
)

// statusPage shows the node and its cluster in plain HTML without scripts. Without the rights of an admin
// it shows only whether the node serves.
func (n *Node) statusPage(w http.ResponseWriter, r *http.Request) {
	p := pageData{Version: node.Version, Status: "ready", Admin: n.isAdmin(r)}
	if why := n.NotReady(); why != "" {
		p.Status = why
	}
	if p.Admin && !n.Waiting() {
		p.Cluster, p.Node, p.Nodes = n.ClusterID(), uint64(n.NodeID()), n.Statuses()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Cache-Control", "no-store")
	if err := pageTemplate.Execute(w, p); err != nil {
		n.log.Info("the status page was not sent", "err", err)
	}
}

// pageData is the data of the status page.
type pageData struct {
	Version, Status string
	Admin           bool
	Cluster         string // empty before the node is part of one
	Node            uint64
	Nodes           []node.NodeStatus
}

// state returns the state of a node in words.
func state(s node.NodeStatus) string {
	switch {
	case s.Membership != node.Active:
		return string(s.Membership)
	case !s.Live:
		return "silent"
	case !s.Available:
		return "live, not available"
	}
	return "available"
}

var pageTemplate = template.Must(template.New("status").Funcs(template.FuncMap{
	"state": state,
	"size":  func(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) },
	"used": func(s []node.StoreStatus) (sum int64) {
		for _, st := range s {
			sum += st.Used
		}
		return sum
	},
	"since": func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05 MST")
	},
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lichen{{if .Cluster}} node {{.Node}}{{end}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ddd }
td.number, th.number { text-align: right }
code { font-size: 90% }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } th, td { border-color: #444 } a { color: #8bf } }
</style>
</head>
<body>
<h1>Lichen</h1>
<p>Version {{.Version}}. This node: <strong>{{.Status}}</strong>.</p>
{{if not .Admin}}<p>More is shown to admins, who connect with the client certificate of root.</p>
{{else if not .Cluster}}<p>This node is not part of a cluster yet: run <code>lichen init</code>.</p>
{{else}}<p>Node {{.Node}} of cluster <code>{{.Cluster}}</code>.</p>
<table>
<tr><th>node</th><th>state</th><th>SQL address</th><th>locality</th><th>started</th><th class="number">ranges</th><th class="number">leaders</th><th class="number">disk used</th></tr>
{{range .Nodes}}<tr><td>{{.ID}}</td><td>{{state .}}</td><td>{{.SQLAddr}}</td><td>{{.Locality}}</td><td>{{since .StartedAt}}</td><td class="number">{{.Ranges}}</td><td class="number">{{.Leaders}}</td><td class="number">{{size (used .Stores)}}</td></tr>
{{end}}</table>
{{end}}<p><a href="/health?ready=1">Health</a> · <a href="/_status/vars">metrics</a> for Prometheus{{if .Admin}} · <a href="/debug/pprof/">profiles</a>{{end}}</p>
</body>
</html>
`))
