package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestConsoleTellsWaits: who waited for whom on which table, what blocks have cost and which statements were slow is known on every
// node, wherever the sessions and the range were.
func TestConsoleTellsWaits(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		holder, waiter := c.connect(second), c.connect(third)
		defer holder.Close(c.ctx)
		defer waiter.Close(c.ctx)
		c.exec(holder, "CREATE TABLE accounts (a INT PRIMARY KEY, b INT); INSERT INTO accounts VALUES (1, 0)")
		c.exec(holder, "BEGIN")
		c.exec(holder, "UPDATE accounts SET b = 7 WHERE a = 1")
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.exec(waiter, "DELETE FROM accounts WHERE a = 1")
		}()
		<-time.After(1500 * time.Millisecond)
		c.exec(holder, "COMMIT")
		<-done
		a := openAPI(t, first)
		list := a.want(http.StatusOK, http.MethodGet, "lock-waits", "")["waits"].([]any)
		if len(list) == 0 {
			t.Fatal("no wait is told")
		}
		w := list[0].(map[string]any)
		if text, _ := json.Marshal(w); w["table"] != "accounts" || w["index"] != "accounts_pkey" || w["duration"].(float64) < 1 || w["granted"] != true || w["user"] != "root" ||
			!strings.Contains(string(text), `"queries":["DELETE FROM accounts WHERE a = _"]`) || !strings.Contains(string(text), `"blockedBy":["UPDATE accounts SET b = _ WHERE a = _"]`) {
			t.Errorf("the wait: %s", text)
		}
		text, _ := json.Marshal(a.want(http.StatusOK, http.MethodGet, "transactions", ""))
		if !strings.Contains(string(text), `"count":1`) || !strings.Contains(string(text), `"queries":["UPDATE accounts SET b = _ WHERE a = _"]`) {
			t.Errorf("the block: %s", text)
		}
		slow := a.want(http.StatusOK, http.MethodGet, "slow-statements", "")
		text, _ = json.Marshal(slow)
		if slow["threshold"] != "1s" || !strings.Contains(string(text), `"query":"DELETE FROM accounts WHERE a = 1"`) || !strings.Contains(string(text), "Delete on accounts") {
			t.Errorf("the slow statement: %s", text)
		}
		fingerprint := slow["statements"].([]any)[0].(map[string]any)["fingerprint"].(string)
		text, _ = json.Marshal(a.want(http.StatusOK, http.MethodGet, "statements/"+fingerprint+"/plans", ""))
		if !strings.Contains(string(text), "Index Scan using accounts_pkey") || !strings.Contains(string(text), "a = _") && !strings.Contains(string(text), "a = $1") {
			t.Errorf("the plan: %s", text)
		}
	})
}
