package ecommerce

import (
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/workload/dataset"
)

// The sales lie in these years.
const (
	firstYear = 2022
	years     = 3
)

// leastProducts is how many products there are at any scale.
const leastProducts = 10

var opened = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)

// sizes are how many rows the tables have.
type sizes struct{ products, customers, sales int64 }

func newSizes(scale float64) sizes {
	grown := func(n, least int64) int64 { return max(int64(float64(n)*scale), least) }
	return sizes{products: grown(10_000, leastProducts), customers: grown(30_000, 10), sales: grown(100_000, 10)}
}

func (z sizes) tables() []dataset.Table {
	return []dataset.Table{
		{Name: "products", Columns: "product_id, name, category, price, stock, reorder_level, added", Rows: z.products, Row: product},
		{Name: "customers", Columns: "customer_id, name, email, region, joined", Rows: z.customers, Row: customer},
		{Name: "sales", Columns: "sale_id, product_id, customer_id, quantity, amount, sold_at", Rows: z.sales, Row: z.sale},
	}
}

var (
	categories = []string{"Audio", "Books", "Cameras", "Clothing", "Computers", "Games", "Garden", "Kitchen", "Phones", "Sports", "Toys", "Watches"}
	kinds      = []string{"Basic", "Classic", "Compact", "Deluxe", "Eco", "Lite", "Mini", "Plus", "Pro", "Ultra"}
	regions    = []string{"Central", "East", "North", "Overseas", "South", "West"}
	firstNames = []string{"Ada", "Amir", "Chen", "Dora", "Emil", "Farid", "Greta", "Hana", "Ivan", "Kira", "Lina", "Miro", "Noah", "Olga", "Rosa", "Tara", "Yuki", "Zoe"}
	lastNames  = []string{"Adler", "Baker", "Costa", "Diaz", "Fischer", "Garcia", "Ito", "Jensen", "Khan", "Lopez", "Novak", "Okafor", "Rossi", "Silva", "Tanaka", "Weber", "Xu"}
)

// price returns a product's price in cents. It follows from the number alone, so that a
// sale needs no look at the product.
func price(product int64) int64 { return 199 + product*7919%99_800 }

func product(r *dataset.Row) {
	category := r.Pick(categories)
	r.Int(r.N)
	r.Text(fmt.Sprintf("%s %s %d", category, r.Pick(kinds), r.N))
	r.Text(category)
	r.Cents(price(r.N))
	r.Int(r.Int64N(500))
	r.Int(5 * r.Upto(10))
	r.Date(r.Within(opened.AddDate(-1, 0, 0), 365*24*time.Hour))
}

func customer(r *dataset.Row) {
	first, last := r.Pick(firstNames), r.Pick(lastNames)
	r.Int(r.N)
	r.Text(first + " " + last)
	r.Text(fmt.Sprintf("%s.%s.%d@example.com", first, last, r.N))
	r.Text(r.Pick(regions))
	r.Date(r.Within(opened, 365*24*time.Hour))
}

func (z sizes) sale(r *dataset.Row) {
	// The lower of two numbers: some products sell more than others.
	product, quantity := min(r.Upto(z.products), r.Upto(z.products)), r.Upto(5)
	r.Int(r.N)
	r.Int(product)
	r.Int(r.Upto(z.customers))
	r.Int(quantity)
	r.Cents(quantity * price(product))
	r.Time(r.Within(opened, years*365*24*time.Hour))
}
