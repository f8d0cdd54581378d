package dvdrental

import (
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/workload/dataset"
)

// actorsPerFilm is how many actors each film has.
const actorsPerFilm = 5

// opened is when the business began: no time in the data is before it.
var opened = time.Date(2015, 1, 1, 8, 0, 0, 0, time.UTC)

// sizes are how many rows the tables have.
type sizes struct {
	actors, categories, languages, films int64
	countries, cities, addresses         int64
	stores, staff, customers             int64
	inventory, rentals, payments         int64
}

// newSizes returns the sizes for a scale. What a business has more of as it grows grows
// with it; countries, categories and languages don't.
func newSizes(scale float64) sizes {
	grown := func(n, least int64) int64 { return max(int64(float64(n)*scale), least) }
	return sizes{
		actors: grown(1000, actorsPerFilm), films: grown(5000, 1), inventory: grown(20_000, 1),
		categories: int64(len(categories)), languages: int64(len(languages)), countries: int64(len(countries)),
		cities: grown(600, 1), addresses: grown(20_000, 1),
		stores: grown(100, 1), staff: grown(10_000, 1), customers: grown(10_000, 1),
		rentals: grown(100_000, 1), payments: grown(100_000, 1),
	}
}

// tables returns the tables in an order in which they can be filled.
func (z sizes) tables() []dataset.Table {
	return []dataset.Table{
		{Name: "actor", Columns: "actor_id, first_name, last_name, last_update", Rows: z.actors, Row: person},
		{Name: "category", Columns: "category_id, name, last_update", Rows: z.categories, Row: listed(categories)},
		{Name: "language", Columns: "language_id, name, last_update", Rows: z.languages, Row: listed(languages)},
		{Name: "country", Columns: "country_id, country, last_update", Rows: z.countries, Row: listed(countries)},
		{Name: "city", Columns: "city_id, city, country_id, last_update", Rows: z.cities, Row: z.city},
		{Name: "address", Columns: "address_id, address, address2, district, city_id, postal_code, phone, last_update", Rows: z.addresses, Row: z.address},
		{Name: "film", Columns: "film_id, title, description, release_year, language_id, rental_duration, rental_rate, length, replacement_cost, rating, last_update, fulltext", Rows: z.films, Row: z.film},
		{Name: "film_actor", Columns: "film_id, actor_id, last_update", Rows: z.films * actorsPerFilm, Row: z.filmActor},
		{Name: "film_category", Columns: "film_id, category_id, last_update", Rows: z.films, Row: z.filmCategory},
		{Name: "store", Columns: "store_id, manager_staff_id, address_id, last_update", Rows: z.stores, Row: z.store},
		{Name: "staff", Columns: "staff_id, first_name, last_name, address_id, email, store_id, username, password, last_update", Rows: z.staff, Row: z.staffMember},
		{Name: "customer", Columns: "customer_id, store_id, first_name, last_name, email, address_id, create_date, last_update, active", Rows: z.customers, Row: z.customer},
		{Name: "inventory", Columns: "inventory_id, film_id, store_id, last_update", Rows: z.inventory, Row: z.item},
		{Name: "rental", Columns: "rental_id, rental_date, inventory_id, customer_id, return_date, staff_id, last_update", Rows: z.rentals, Row: z.rentalRow},
		{Name: "payment", Columns: "payment_id, customer_id, staff_id, rental_id, amount, payment_date", Rows: z.payments, Row: z.payment},
	}
}

// person fills a table of names.
func person(r *dataset.Row) {
	r.Int(r.N)
	r.Text(r.Pick(firstNames))
	r.Text(r.Pick(lastNames))
	updated(r)
}

// updated appends last_update.
func updated(r *dataset.Row) { r.Time(r.Within(opened, 365*24*time.Hour)) }

// listed fills a table with the texts of a list.
func listed(texts []string) func(*dataset.Row) {
	return func(r *dataset.Row) {
		r.Int(r.N)
		r.Text(texts[r.N-1])
		updated(r)
	}
}

func (z sizes) city(r *dataset.Row) {
	r.Int(r.N)
	r.Text(fmt.Sprintf("%s %d", r.Pick(places), r.N))
	r.Int(r.Upto(z.countries))
	updated(r)
}

func (z sizes) address(r *dataset.Row) {
	r.Int(r.N)
	r.Text(fmt.Sprintf("%d %s Street", r.Upto(1999), r.Pick(lastNames)))
	if r.IntN(10) == 0 {
		r.Text(fmt.Sprintf("Floor %d", r.Upto(12)))
	} else {
		r.Null()
	}
	r.Text(r.Pick(places))
	r.Int(r.Upto(z.cities))
	r.Text(fmt.Sprintf("%05d", r.IntN(100_000)))
	r.Text(fmt.Sprintf("+%d", 10_000_000_000+r.Int64N(89_999_999_999)))
	updated(r)
}

func (z sizes) film(r *dataset.Row) {
	a, b := r.Pick(adjectives), r.Pick(nouns)
	r.Int(r.N)
	r.Text(a + " " + b)
	r.Text(fmt.Sprintf("A %s story of a %s and a %s", r.Pick(adjectives), r.Pick(nouns), b))
	r.Int(int64(1950 + r.IntN(70)))
	r.Int(r.Upto(z.languages))
	r.Int(2 + r.Upto(5))
	r.Int(99 + 100*r.Int64N(5))
	r.Int(45 + r.Upto(140))
	r.Int(999 + 100*r.Int64N(20))
	r.Text(r.Pick([]string{"G", "PG", "PG-13", "R", "NC-17"}))
	updated(r)
	r.Text(a + " " + b)
}

// filmActor gives each film distinct actors, that of the next film others.
func (z sizes) filmActor(r *dataset.Row) {
	film, k := (r.N-1)/actorsPerFilm+1, (r.N-1)%actorsPerFilm
	r.Int(film)
	r.Int((film*13+k*(z.actors/actorsPerFilm))%z.actors + 1)
	updated(r)
}

func (z sizes) filmCategory(r *dataset.Row) {
	r.Int(r.N)
	r.Int(r.Upto(z.categories))
	updated(r)
}

func (z sizes) store(r *dataset.Row) {
	r.Int(r.N)
	r.Int((r.N-1)%z.staff + 1)
	r.Int(r.Upto(z.addresses))
	updated(r)
}

func (z sizes) staffMember(r *dataset.Row) {
	first, last := r.Pick(firstNames), r.Pick(lastNames)
	r.Int(r.N)
	r.Text(first)
	r.Text(last)
	r.Int(r.Upto(z.addresses))
	r.Text(fmt.Sprintf("%s.%s.%d@staff.example.com", first, last, r.N))
	r.Int((r.N-1)%z.stores + 1)
	r.Text(fmt.Sprintf("%s%d", first, r.N))
	r.Text(fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
	updated(r)
}

func (z sizes) customer(r *dataset.Row) {
	first, last := r.Pick(firstNames), r.Pick(lastNames)
	r.Int(r.N)
	r.Int(r.Upto(z.stores))
	r.Text(first)
	r.Text(last)
	r.Text(fmt.Sprintf("%s.%s.%d@example.com", first, last, r.N))
	r.Int(r.Upto(z.addresses))
	r.Date(r.Within(opened, 365*24*time.Hour))
	updated(r)
	r.Int(int64(min(r.IntN(20), 1)))
}

func (z sizes) item(r *dataset.Row) {
	r.Int(r.N)
	r.Int(r.Upto(z.films))
	r.Int(r.Upto(z.stores))
	updated(r)
}

// rental is what a rental and its payment have in common. It follows from the number
// alone, so that the payment needs no look at the rental.
type rental struct {
	customer, staff int64
	begun           time.Time
}

func (z sizes) rental(n int64) rental {
	return rental{
		customer: scattered(n, 1, z.customers), staff: scattered(n, 2, z.staff),
		begun: opened.Add(time.Duration(n) * 10 * time.Minute),
	}
}

// scattered returns a number between 1 and limit, which looks random.
func scattered(n int64, salt uint64, limit int64) int64 {
	x := (uint64(n) + salt) * 0x9e3779b97f4a7c15
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return int64((x^x>>32)%uint64(limit)) + 1
}

func (z sizes) rentalRow(r *dataset.Row) {
	what := z.rental(r.N)
	r.Int(r.N)
	r.Time(what.begun)
	r.Int(r.Upto(z.inventory))
	r.Int(what.customer)
	if r.IntN(20) == 0 {
		r.Null()
	} else {
		r.Time(r.Within(what.begun.Add(time.Hour), 7*24*time.Hour))
	}
	r.Int(what.staff)
	r.Time(what.begun)
}

func (z sizes) payment(r *dataset.Row) {
	number := (r.N-1)%z.rentals + 1
	what := z.rental(number)
	r.Int(r.N)
	r.Int(what.customer)
	r.Int(what.staff)
	r.Int(number)
	r.Int(99 + 100*r.Int64N(12))
	r.Time(r.Within(what.begun, time.Hour))
}
