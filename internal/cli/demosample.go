package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// Sizes of the retail sample.
const (
	sampleUsers    = 500
	sampleProducts = 100
	sampleOrders   = 2000
	sampleReviews  = 1000
	sampleRows     = 250 // rows of one INSERT
	sampleTime     = time.Minute
)

const retailTables = `
CREATE TABLE products (
  id INT PRIMARY KEY, title VARCHAR(100) NOT NULL, category VARCHAR(40) NOT NULL, vendor VARCHAR(60) NOT NULL,
  price DECIMAL(10,2) NOT NULL CHECK (price > 0), stock INT NOT NULL DEFAULT 0, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE users (
  id INT PRIMARY KEY, name VARCHAR(100) NOT NULL, email VARCHAR(120) NOT NULL UNIQUE, city VARCHAR(60) NOT NULL,
  country CHAR(2) NOT NULL, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE orders (
  id INT PRIMARY KEY, user_id INT NOT NULL, product_id INT NOT NULL, quantity INT NOT NULL CHECK (quantity > 0),
  discount DECIMAL(4,2) NOT NULL DEFAULT 0, total DECIMAL(12,2) NOT NULL, created_at TIMESTAMPTZ NOT NULL);
CREATE INDEX orders_user ON orders (user_id);
CREATE INDEX orders_product ON orders (product_id);
CREATE TABLE reviews (
  id INT PRIMARY KEY, product_id INT NOT NULL, user_id INT NOT NULL, rating INT NOT NULL CHECK (rating BETWEEN 1 AND 5),
  body TEXT NOT NULL, created_at TIMESTAMPTZ NOT NULL);
CREATE INDEX reviews_product ON reviews (product_id);`

// retail generates the rows of the sample. The same seed generates the same rows.
type retail struct {
	r      *rand.Rand
	prices []int // of products, in cents
}

func pick(r *rand.Rand, words string) string {
	w := strings.Split(words, "|")
	return w[r.IntN(len(w))]
}

const (
	firstNames = "Ada|Amir|Beatriz|Chen|Dagny|Elif|Femi|Grace|Hugo|Ines|Jonas|Kenji|Leila|Mateo|Nadia|Olga|Priya|Quinn|Rosa|Samir|Tove|Uma|Viktor|Wanda|Ximena|Yara|Zoltan"
	lastNames  = "Abe|Berg|Costa|Diaz|Eriksen|Fischer|Gupta|Haddad|Ito|Jansen|Kowalski|Lindqvist|Moreau|Nakamura|Okafor|Petrov|Quiroga|Rossi|Silva|Tanaka|Usman|Vargas|Weber|Yilmaz|Zhou"
	places     = "Lagos/NG|Oslo/NO|Lima/PE|Osaka/JP|Porto/PT|Graz/AT|Pune/IN|Leeds/GB|Lyon/FR|Turin/IT|Izmir/TR|Austin/US|Quito/EC|Tartu/EE|Bergen/NO|Kyoto/JP"
	adjectives = "Bright|Compact|Durable|Elegant|Folding|Handy|Light|Mighty|Quiet|Rugged|Silent|Smooth|Sturdy|Warm"
	materials  = "Bamboo|Bronze|Ceramic|Copper|Cotton|Glass|Granite|Leather|Linen|Oak|Steel|Wool"
	things     = "Bench|Bottle|Chair|Clock|Desk|Hammer|Kettle|Lamp|Mirror|Mug|Pan|Rug|Shelf|Stool|Tray|Wallet"
	categories = "garden|home|kitchen|office|tools|travel"
	vendors    = "Alder & Sons|Birch Works|Cairn Goods|Delta Supply|Ember House|Fjord Trading"
	praise     = "Exactly as described.|Better than I hoped.|Arrived quickly and works well.|A gift that was well received.|My second one."
	complaint  = "Broke within a week.|Smaller than it looks.|The colour is not that of the picture.|Took a month to arrive."
)

// day returns a time within two years.
func (g *retail) day() string {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return start.Add(time.Duration(g.r.IntN(2*365*24*3600)) * time.Second).Format("'2006-01-02 15:04:05+00'")
}

func (g *retail) product(id int) string {
	cents := 199 + g.r.IntN(24000)
	g.prices = append(g.prices, cents)
	title := pick(g.r, adjectives) + " " + pick(g.r, materials) + " " + pick(g.r, things)
	return fmt.Sprintf("(%d, %s, %s, %s, %s, %d, %s)", id, literal(title), literal(pick(g.r, categories)),
		literal(pick(g.r, vendors)), money(cents), g.r.IntN(500), g.day())
}

func (g *retail) user(id int) string {
	first, last := pick(g.r, firstNames), pick(g.r, lastNames)
	city, country, _ := strings.Cut(pick(g.r, places), "/")
	email := fmt.Sprintf("%s.%s%d@example.com", strings.ToLower(first), strings.ToLower(last), id)
	return fmt.Sprintf("(%d, %s, %s, %s, %s, %s)", id, literal(first+" "+last), literal(email), literal(city), literal(country), g.day())
}

func (g *retail) order(id int) string {
	product, quantity := 1+g.r.IntN(sampleProducts), 1+g.r.IntN(5)
	percent := 0
	if g.r.IntN(4) == 0 {
		percent = 5 * (1 + g.r.IntN(5))
	}
	total := g.prices[product-1] * quantity * (100 - percent) / 100
	return fmt.Sprintf("(%d, %d, %d, %d, %s, %s, %s)", id, 1+g.r.IntN(sampleUsers), product, quantity, money(percent), money(total), g.day())
}

func (g *retail) review(id int) string {
	rating, body := 1+g.r.IntN(5), praise
	if rating < 3 {
		body = complaint
	}
	return fmt.Sprintf("(%d, %d, %d, %d, %s, %s)", id, 1+g.r.IntN(sampleProducts), 1+g.r.IntN(sampleUsers), rating, literal(pick(g.r, body)), g.day())
}

func money(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// newRetailInit returns the command that loads the sample of lichen demo into any cluster.
func newRetailInit(s *streams) *cobra.Command {
	f := &setFlags{}
	c := &cobra.Command{
		Use:   "retail [URL]",
		Short: "Sample data of a shop, for first steps: four small tables",
		Long: "Make and fill the tables products, users, orders and reviews, those of lichen demo --sample=retail.\n\n" +
			"URL is any PostgreSQL server; without it that of the environment variable " + urlVar + ",\nor " + defaultURL + ".",
		Args: anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("give one URL")}
			}
			target, err := f.target(args)
			if err != nil {
				return usageError{err}
			}
			cfg, err := target.Config()
			if err != nil {
				return usageError{err}
			}
			if err := loadRetail(cfg, f.drop); err != nil {
				return suggestDrop(err, f.drop)
			}
			fmt.Fprintf(s.out, "loaded %d products, %d users, %d orders and %d reviews into the database %s\n",
				sampleProducts, sampleUsers, sampleOrders, sampleReviews, cfg.Database)
			return nil
		},
	}
	f.addURL(c.Flags())
	f.security.add(c.Flags())
	c.Flags().BoolVar(&f.drop, "drop", false, "drop the tables first")
	return c
}

// loadRetail creates the sample's tables and fills them; drop says to drop existing ones first.
func loadRetail(cfg *pgconn.Config, drop bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTime)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	tables := retailTables
	if drop {
		tables = "DROP TABLE IF EXISTS products, users, orders, reviews CASCADE;" + tables
	}
	if _, err := conn.Exec(ctx, tables).ReadAll(); err != nil {
		return err
	}
	g := &retail{r: rand.New(rand.NewPCG(1, 1))}
	for _, t := range []struct {
		name string
		rows int
		row  func(int) string
	}{
		{"products", sampleProducts, g.product}, {"users", sampleUsers, g.user},
		{"orders", sampleOrders, g.order}, {"reviews", sampleReviews, g.review},
	} {
		for id := 1; id <= t.rows; {
			var rows []string
			for ; id <= t.rows && len(rows) < sampleRows; id++ {
				rows = append(rows, t.row(id))
			}
			if _, err := conn.Exec(ctx, "INSERT INTO "+t.name+" VALUES "+strings.Join(rows, ", ")).ReadAll(); err != nil {
				return err
			}
		}
	}
	return nil
}
