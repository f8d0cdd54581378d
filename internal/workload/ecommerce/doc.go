// Package ecommerce is a shop's products, customers and sales, and the five questions
// about them that its benchmark asked: the monthly trend of a product, a year's sales by
// category, the best customers, products close to out of stock, sales by region. The
// benchmark published sizes and questions, no text: schema and statements are ours.
//
// Above it is the command line; below it workload/dataset. Read tables.sql, then
// ecommerce.go (Set, Questions), then rows.go (the generated data).
//
// Invariants
//
//  1. Every foreign key of the data finds its row, and a sale's amount is its quantity
//     times the product's price (price; cli.TestECommerce).
package ecommerce
