package storedtext

import "testing"

// TestExpressionName checks that what looks like a call has no parentheses around it in messages.
func TestExpressionName(t *testing.T) {
	for text, want := range map[string]string{
		"lower(a)":       "lower(a)",
		"COALESCE(a, b)": "COALESCE(a, b)",
		"NULLIF(a, 7)":   "NULLIF(a, 7)",
		"GREATEST(a, b)": "GREATEST(a, b)",
		"a + 1":          "(a + 1)",
		"a IS NULL":      "(a IS NULL)",
	} {
		if got := ExpressionName(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}
