package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// typesFile has the types of the API for the pages.
var typesFile = filepath.Join("..", "..", "web", "src", "types.ts")

// TestTypes: the pages' types are those of the API. LICHEN_REWRITE=1 writes them.
func TestTypes(t *testing.T) {
	var b strings.Builder
	b.WriteString("// The types of the API, made from the server's by LICHEN_REWRITE=1 go test ./internal/console -run TestTypes.\n")
	schemas := describe(allEndpoints())["components"].(object)["schemas"].(object)
	var names []string
	for name := range schemas {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := schemas[name].(object)
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		props := s["properties"].(object)
		var fields []string
		for f := range props {
			fields = append(fields, f)
		}
		slices.Sort(fields)
		for _, f := range fields {
			mark := ""
			if !slices.Contains(s["required"].([]string), f) {
				mark = "?"
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f, mark, typeScript(props[f].(object)))
		}
		b.WriteString("}\n")
	}
	compareFile(t, typesFile, b.String())
}

// typeScript is a schema as a type.
func typeScript(s object) string {
	if ref, ok := s["$ref"].(string); ok {
		return ref[strings.LastIndex(ref, "/")+1:]
	}
	if either, ok := s["anyOf"].([]object); ok {
		return typeScript(either[0]) + " | null"
	}
	switch s["type"] {
	case "array":
		item := typeScript(s["items"].(object))
		if strings.Contains(item, " ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		return "Record<string, " + typeScript(s["additionalProperties"].(object)) + ">"
	case "integer", "number":
		return "number"
	}
	return s["type"].(string)
}

// compareFile compares a file with what it should have, or writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if os.Getenv("LICHEN_REWRITE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the server has: LICHEN_REWRITE=1 go test ./internal/console writes it", path)
	}
}
