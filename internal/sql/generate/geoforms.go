package generate

// geoForms are forms with geometric types. What their functions compute by sines is left out: its last digits are the
// C library's.
var geoForms = map[string][]string{
	"point": {"point({float8}, {float8})", "{point} + {point}", "{point} - {point}", "{point} * {point}", "{point} / '(2,0)'", "coalesce({point}, '(0,0)')", "center({box})", "@@ {circle}", "({lseg})[0]", "({box})[{int4} % 2]", "@@ {lseg}",
		"{lseg} # {lseg}", "{point} ## {lseg}", "{point} ## {box}", "{line} # {line}", "CASE WHEN {bool} THEN {point} END", "@@ {polygon}", "{lseg} ## {lseg}", "{point} ## {line}"},
	"lseg":    {"lseg({point}, {point})", "diagonal({box})", "coalesce({lseg}, '[(0,0),(1,1)]')", "{box}::lseg"},
	"line":    {"line({point}, {point})", "coalesce({line}, '{1,-1,0}')"},
	"box":     {"box({point}, {point})", "{box} + {point}", "{box} - {point}", "{box} # {box}", "bound_box({box}, {box})", "box({circle})", "box({polygon})", "{point}::box", "{box} * {point}", "{box} / '(0,2)'"},
	"path":    {"{path} + {path}", "popen({path})", "pclose({path})", "{path} - {point}", "{polygon}::path", "{path} * {point}", "coalesce({path}, '[(0,0)]')"},
	"polygon": {"polygon({box})", "pclose({path})::polygon", "coalesce({polygon}, '((0,0),(1,1))')", "{box}::polygon", "CASE WHEN {bool} THEN {polygon} END"},
	"circle":  {"circle({point}, abs({float8}))", "{circle} + {point}", "circle({box})", "circle({polygon})", "{circle} - '(1,1)'", "circle({point}, {float8})", "coalesce({circle}, '<(0,0),1>')"},
	"float8": {"{point} <-> {point}", "area({box})", "length({lseg})", "({point})[0]", "({point})[{int4}]", "slope({point}, {point})", "diameter({circle})", "radius({circle})", "{point} <-> {lseg}", "height({box})", "width({box})", "@-@ {path}", "area({path})",
		"{box} <-> {box}", "{point} <-> {polygon}", "{circle} <-> {circle}", "{lseg} <-> {lseg}", "{line} <-> {point}", "{path} <-> {path}", "{point} <-> {circle}", "{polygon} <-> {polygon}", "{lseg} <-> {box}", "{point} <-> {box}", "area({circle})::numeric(20,6)::float8"},
	"bool": {"{point} ~= {point}", "{point} << {point}", "{point} <@ {box}", "{box} && {box}", "{box} @> {point}", "{box} = {box}", "{box} < {box}", "{circle} @> {circle}", "{circle} && {circle}", "{circle} = {circle}", "{polygon} @> {point}", "{polygon} && {polygon}", "{polygon} ~= {polygon}",
		"{lseg} ?# {lseg}", "{lseg} ?|| {lseg}", "{lseg} ?-| {lseg}", "?- {lseg}", "?| {line}", "{line} ?# {line}", "{line} = {line}", "{path} = {path}", "isclosed({path})", "isopen({path})", "{point} <@ {path}", "{point} <@ {lseg}", "{lseg} <@ {box}", "{box} ~= {box}", "{box} <<| {box}",
		"{polygon} <@ {polygon}", "{circle} |>> {circle}", "{point} |>> {point}", "{lseg} < {lseg}", "{lseg} = {lseg}", "{path} ?# {path}", "{lseg} ?# {box}", "{point} <@ {circle}", "{point} <@ {line}", "{polygon} &< {polygon}", "{circle} <^ '<(1,1),1>'", "{point} ?- {point}", "{box} ?# {box}", "{path} < {path}",
		"{point} IS NULL", "{point} IS DISTINCT FROM {point}", "{point} = {point}", "{polygon} = {polygon}", "{point} IN ({point}, '(1,1)')", "{box} IN ({box}, '(1,1)')"},
	"int4":  {"npoints({path})", "npoints({polygon})", "num_nulls({point}, {box})"},
	"text":  {"{point}::text", "{lseg}::text", "{line}::text", "{box}::text", "{path}::text", "{polygon}::text", "{circle}::text", "to_json({point})::text", "ROW({point}, {box})::text", "ARRAY[{point}, {point}]::text", "ARRAY[{box}, {box}]::text", "format('%s %L', {circle}, {lseg})"},
	"jsonb": {"to_jsonb({point})", "jsonb_build_object('p', {polygon}, 'b', {box})"},
}
