package ecommerce

import (
	_ "embed"
	"math/rand/v2"
	"strconv"

	"github.com/lichendb/lichen/internal/workload/dataset"
)

//go:embed tables.sql
var tables string

// Set returns the schema and data. At scale 1 there are 10,000 products, 30,000
// customers and 100,000 sales.
func Set(scale float64) *dataset.Set {
	return &dataset.Set{Schema: tables, Tables: newSizes(scale).tables()}
}

const (
	monthlyTrend = `SELECT date_trunc('month', s.sold_at) AS month, count(*) AS sales, sum(s.quantity) AS units, sum(s.amount) AS amount
FROM sales s WHERE s.product_id = $1 GROUP BY 1 ORDER BY 1`

	salesByCategory = `SELECT p.category, sum(s.quantity) AS units, sum(s.amount) AS amount
FROM sales s JOIN products p USING (product_id)
WHERE s.sold_at >= make_date($1, 1, 1) AND s.sold_at < make_date($1 + 1, 1, 1)
GROUP BY p.category ORDER BY amount DESC, p.category`

	topCustomers = `SELECT c.customer_id, c.name, count(*) AS sales, sum(s.amount) AS amount
FROM sales s JOIN customers c USING (customer_id)
GROUP BY c.customer_id, c.name ORDER BY amount DESC, c.customer_id LIMIT 10`

	closeToStockOut = `SELECT p.product_id, p.name, p.stock, p.reorder_level, coalesce(sum(s.quantity), 0) AS sold
FROM products p LEFT JOIN sales s ON s.product_id = p.product_id AND s.sold_at >= date '2024-12-01'
WHERE p.stock <= p.reorder_level
GROUP BY p.product_id, p.name, p.stock, p.reorder_level ORDER BY p.stock, sold DESC, p.product_id LIMIT 50`

	salesByRegion = `SELECT c.region, count(DISTINCT c.customer_id) AS customers, count(*) AS sales, sum(s.amount) AS amount,
    round(100 * sum(s.amount) / sum(sum(s.amount)) OVER (), 2) AS share
FROM sales s JOIN customers c USING (customer_id)
GROUP BY c.region ORDER BY amount DESC, c.region`
)

// Questions returns the five questions. Those about a product or a year take one at
// random, which any size of the data has.
func Questions() []dataset.Operation {
	return []dataset.Operation{
		{Name: "MONTHLY-TREND", SQL: monthlyTrend, Args: func(r *rand.Rand, _ int64) [][]byte { return number(1 + r.Int64N(leastProducts)) }},
		{Name: "SALES-BY-CATEGORY", SQL: salesByCategory, Args: func(r *rand.Rand, _ int64) [][]byte { return number(firstYear + r.Int64N(years)) }},
		{Name: "TOP-CUSTOMERS", SQL: topCustomers},
		{Name: "CLOSE-TO-STOCK-OUT", SQL: closeToStockOut},
		{Name: "SALES-BY-REGION", SQL: salesByRegion},
	}
}

// number returns one parameter.
func number(n int64) [][]byte { return [][]byte{strconv.AppendInt(nil, n, 10)} }
