// Package ascii classifies bytes and reads numbers as the functions of C's library do in the locale
// C, which PostgreSQL's input functions rely on. It knows nothing of other characters.
package ascii
