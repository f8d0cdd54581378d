// Package fuzzyfuncs declares the functions of the extension fuzzystrmatch: how alike texts are, and how they sound.
package fuzzyfuncs
