package cli_test

import (
	"strings"
	"testing"
)

// value runs a query that returns one value.
func value(t *testing.T, url, query string) string {
	t.Helper()
	_, v, _ := strings.Cut(want(t, "sql", "--url", url, "--format=tsv", "-e", query), "\n")
	return strings.TrimSpace(v)
}

// TestDVDRental loads the 15 tables twice, once over the other, and runs each mix.
func TestDVDRental(t *testing.T) {
	url := node(t)
	load := []string{"workload", "init", "dvdrental", "--scale=0.001", "--threads=2", "--display-every=0", url}
	if report := want(t, load...); count(t, report, "COPY payment", "OK") != 1 {
		t.Errorf("report of loading:\n%s", report)
	}
	digest := "SELECT md5(string_agg(p::text || r::text || f::text, '' ORDER BY payment_id)) FROM payment p JOIN rental r USING (rental_id)" +
		" JOIN inventory i USING (inventory_id) JOIN film f USING (film_id)"
	first := value(t, url, digest)
	if code, _, errOut := call(load...); code != 1 || !strings.Contains(errOut, "already exists") ||
		strings.Contains(errOut, "ERROR: ERROR") || !strings.Contains(errOut, "--drop drops its tables first") {
		t.Errorf("loading again without --drop: exit code %d, %s", code, errOut)
	}
	want(t, append(load, "--drop", "--threads=3")...)
	if again := value(t, url, digest); again != first {
		t.Errorf("the second load has other rows: %s and %s", first, again)
	}
	if got := value(t, url, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"); got != "15" {
		t.Errorf("%s tables", got)
	}
	for _, run := range []struct{ mix, op string }{{"select-join", "SELECT-JOIN"}, {"select-join-redundant", "SELECT-JOIN"}, {"insert", "INSERT"}} {
		report := want(t, "workload", "run", "dvdrental", "--mix="+run.mix, "--operations=30", "--threads=3", "--display-every=0", url)
		if count(t, report, run.op, "OK") != 30 {
			t.Errorf("mix %s:\n%s", run.mix, report)
		}
	}
	if got := value(t, url, "SELECT count(*) FROM payment"); got != "130" {
		t.Errorf("%s payments after 100 and 30 inserts", got)
	}
}

// TestDVDRentalJoin: the join on the staff's key reads the payments of one member by
// their index, whether or not the condition is repeated for the payments.
func TestDVDRentalJoin(t *testing.T) {
	url := node(t)
	want(t, "workload", "init", "dvdrental", "--scale=0.001", "--display-every=0", url)
	query := "SELECT payment_id FROM payment p, staff s WHERE s.staff_id = 7 AND p.staff_id = s.staff_id"
	for _, q := range []string{query, query + " AND p.staff_id = 7"} {
		plan := want(t, "sql", "--url", url, "--format=tsv", "-e", "EXPLAIN "+q)
		if !strings.Contains(plan, "using payment_auto_index_fk_staff_id_ref_staff on payment") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\n%s", q, plan)
		}
	}
	count := func(q string) string { return value(t, url, "SELECT count(*) FROM ("+q+") x") }
	if a, b := count(query), count("SELECT payment_id FROM payment WHERE staff_id + 0 = 7"); a != b || a == "0" {
		t.Errorf("the join returns %s rows, a scan %s", a, b)
	}
}

// TestECommerce loads the shop and asks its questions.
func TestECommerce(t *testing.T) {
	url := node(t)
	want(t, "workload", "init", "ecommerce", "--scale=0.005", "--display-every=0", url)
	report := want(t, "workload", "run", "ecommerce", "--operations=10", "--display-every=0", url)
	for _, question := range []string{"MONTHLY-TREND", "SALES-BY-CATEGORY", "TOP-CUSTOMERS", "CLOSE-TO-STOCK-OUT", "SALES-BY-REGION"} {
		if count(t, report, question, "OK") != 2 {
			t.Errorf("question %s:\n%s", question, report)
		}
	}
	wrong := "SELECT count(*) FROM sales JOIN products USING (product_id) WHERE amount <> quantity * price"
	if got := value(t, url, wrong); got != "0" {
		t.Errorf("%s sales have another amount than quantity and price", got)
	}
	if got := value(t, url, "SELECT count(*) FROM sales"); got != "500" {
		t.Errorf("%s sales", got)
	}
}

// TestWorkloadSetUsage: what is wrong with the flags is said before anything is done.
func TestWorkloadSetUsage(t *testing.T) {
	for _, args := range [][]string{
		{"init", "dvdrental", "--scale=0"}, {"init", "ecommerce", "--threads=0"}, {"run", "dvdrental", "--mix=nothing"},
		{"run", "ecommerce", "--operations=0"}, {"init", "dvdrental", "one", "two"}, {"run", "ecommerce", "postgresql://%zz"},
	} {
		if code, _, errOut := call(append([]string{"workload"}, args...)...); code != 2 {
			t.Errorf("%v: exit code %d, %s", args, code, errOut)
		}
	}
}
