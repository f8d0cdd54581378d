package console

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
)

// getDescription returns the description of the API, in OpenAPI 3.1.
func getDescription(c *Console, _ *request) (any, error) {
	c.once.Do(func() { c.doc, _ = json.MarshalIndent(describe(c.endpoints), "", "  ") }) // of maps and texts, which can't fail
	return c.doc, nil
}

type object = map[string]any

// describe makes the description from the endpoints.
func describe(endpoints []endpoint) object {
	schemas, paths := object{}, map[string]object{}
	for i := range endpoints {
		e := &endpoints[i]
		path := apiPrefix + e.path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(e.method)] = e.describe(schemas)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Lichen", "version": "v2",
			"description": "The API of the console. Times are milliseconds since 1970 where they are points in time, and seconds where they are durations.",
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"login": object{"type": "apiKey", "in": "cookie", "name": cookieName},
				"token": object{"type": "apiKey", "in": "header", "name": tokenHeader},
			},
		},
	}
}

// describe describes an endpoint, and adds the types that it has to schemas.
func (e *endpoint) describe(schemas object) object {
	out := object{"summary": e.doc, "responses": object{
		"200":     e.response("what was asked for", e.answer, schemas),
		"default": e.response("why not", Error{}, schemas),
	}}
	switch {
	case e.access == open:
		out["security"] = []object{}
	case e.method == http.MethodGet:
		out["security"] = []object{{"login": []string{}}}
	default:
		out["security"] = []object{{"login": []string{}, "token": []string{}}}
	}
	var params []object
	for _, p := range e.params {
		in := "query"
		if strings.Contains(e.path, "{"+p.name+"}") {
			in = "path"
		}
		params = append(params, object{"name": p.name, "in": in, "required": in == "path", "description": p.doc, "schema": object{"type": "string"}})
	}
	if params != nil {
		out["parameters"] = params
	}
	if e.body != nil {
		out["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schemaOf(reflect.TypeOf(e.body), schemas)}}}
	}
	return out
}

func (e *endpoint) response(doc string, v any, schemas object) object {
	schema := object{"type": "object"}
	if v != nil {
		schema = schemaOf(reflect.TypeOf(v), schemas)
	}
	return object{"description": doc, "content": object{"application/json": object{"schema": schema}}}
}

// schemaOf describes a type. Structs are described once, in schemas.
func schemaOf(t reflect.Type, schemas object) object {
	switch t.Kind() {
	case reflect.Pointer:
		s := schemaOf(t.Elem(), schemas)
		return object{"anyOf": []object{s, {"type": "null"}}}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), schemas)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem(), schemas)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		if schemas[t.Name()] == nil {
			props, required := object{}, []string{}
			schemas[t.Name()] = props // for types that hold themselves
			required = addFields(t, props, required, schemas)
			schemas[t.Name()] = object{"type": "object", "properties": props, "required": required, "additionalProperties": false}
		}
		return object{"$ref": "#/components/schemas/" + t.Name()}
	}
	return object{"type": "integer"}
}

// addFields adds the fields of a struct, those of embedded ones among them.
func addFields(t reflect.Type, props object, required []string, schemas object) []string {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			required = addFields(f.Type, props, required, schemas)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		props[name] = schemaOf(f.Type, schemas)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return required
}
