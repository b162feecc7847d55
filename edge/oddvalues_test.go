package edge

import (
	"context"
	"net/http"
	"testing"

	"carrel/library"
)

// TestOddValues_AreNoInternalErrors: no literal, default or variable causes a panic or an error
// without a code, which would be logged.
func TestOddValues_AreNoInternalErrors(t *testing.T) {
	user := func(arguments string) string { return `{user(id:"u:a:b"){library(` + arguments + `){bucket}}}` }
	documents := []string{
		`{user(id:5){id}}`, `{user(id:[5]){id}}`, `{user(id:{a:5}){id}}`, `{user(id:true){id}}`, `{nodes(ids:[[5]]){id}}`,
		`{nodes(ids:5){id}}`, `{nodes(ids:null){id}}`, `{nodes(ids:[null]){id}}`,
		`query($x:ID=5){user(id:$x){id}}`, `query($x:ID=null){user(id:$x){id}}`, `query($x:[ID!]=[null]){nodes(ids:$x){id}}`,
		`query($x:[ID]=[]){nodes(ids:$x){id}}`,
		user(`after:{a:1}`), user(`after:[1]`), user(`after:true`), user(`after:1.5`), user(`after:5`), user(`after:X`),
		user(`after:""`), user(`before:{a:{b:[X]}}`), user(`after:[]`),
		`query($x:Int)` + user(`after:{a:$x}`), `query($x:Boolean=true)` + user(`after:{a:$x}`), `query($x:Cursor)` + user(`after:[$x]`),
		`query($x:Cursor=5)` + user(`after:$x`), `query($x:Cursor={})` + user(`after:$x`),
		user(`first:3000000000`), user(`first:true`), user(`filter:{text:5}`), user(`filter:[{text:"a"}]`),
		user(`filter:{kinds:[[LINK]]}`), user(`filter:{kinds:{a:5}}`), user(`filter:5`), user(`orderBy:5`),
		`query($x:ContentKind)` + user(`filter:{kinds:[$x]}`), `query($x:ContentKind=LINK)` + user(`filter:{kinds:[$x]}`),
		`query($x:[ContentKind]=[LINK])` + user(`filter:{kinds:$x}`),
		`query($x:LibraryFilter={kinds:[null]})` + user(`filter:$x`), `query($x:LibraryFilter={text:5})` + user(`filter:$x`),
		`query($x:LibraryFilter={nope:5})` + user(`filter:$x`),
		`query($x:LibraryOrder={field:null})` + user(`orderBy:$x`), `query($x:LibraryOrder={})` + user(`orderBy:$x`),
		`query($x:LibraryOrderField=LAST_MODIFIED)` + user(`orderBy:{field:$x}`),
		`mutation{createPaste(input:{body:"x",expiresAt:{a:1}}){userErrors{code}}}`,
		`mutation{createPaste(input:{body:"x",expiresAt:[]}){userErrors{code}}}`,
		`mutation{createPaste(input:{body:"x",expiresAt:5}){userErrors{code}}}`,
		`mutation($x:DateTime=X){createPaste(input:{body:"x",expiresAt:$x}){userErrors{code}}}`,
		`mutation($x:String="b"){createPaste(input:{body:$x}){userErrors{code}}}`,
		`mutation($x:CreatePasteInput={body:"b"}){createPaste(input:$x){userErrors{code}}}`,
		`{_entities(representations:[1]){__typename}}`, `{_entities(representations:1){__typename}}`,
		`{_entities(representations:{a:{b:[1,{c:X}]}}){__typename}}`, `{_entities(representations:[X,true,"a",[1]]){__typename}}`,
		`query($x:_Any!){_entities(representations:[$x]){__typename}}`, `query($x:_Any={}){_entities(representations:[$x]){__typename}}`,
		`query($x:[_Any!]=[{}]){_entities(representations:$x){__typename}}`,
		`query($x:Boolean=true){viewer @include(if:$x){id}}`, `query($x:Boolean){viewer @include(if:$x){id}}`,
		`query($x:[Boolean!]=[true]){viewer @include(if:$x){id}}`, `query($x:Boolean=true){viewer @include(if:[$x]){id}}`,
		`query($x:Boolean=true,$x:Int){viewer @include(if:$x){id}}`, `query($x:Boolean=true){viewer @include(if:$x,if:$x){id}}`,
		`query($x:Boolean=true){viewer @include(if:$x) @skip(if:$x){id}}`, `{viewer @include{id}}`, `{viewer @include(if:null){id}}`,
		`query($x:Boolean=true){viewer{... @defer(if:$x){id}}}`, `query($x:String="a"){viewer{... @defer(label:$x){id}}}`,
		`{viewer{... @defer(label:null,if:null){id}}}`, `{viewer @deprecated(reason:"x"){id}}`, `query @include(if:true){viewer{id}}`,
		`query($x:Nope){viewer{id}}`, `query($x:User){viewer{id}}`, `query($x:[User]=[])` + user(`first:$x`), `{__typename @skip(if:true)}`,
		`{__type(name:5){name}}`, `query($x:String="User"){__type(name:$x){name}}`,
		`query($x:Boolean=true){__type(name:"User"){fields(includeDeprecated:$x){name}}}`,
		`{__type(name:"User"){fields(includeDeprecated:null){name}}}`,
		`{__schema{directives{args(includeDeprecated:null){name}} types{inputFields{name} enumValues(includeDeprecated:null){name}}}}`,
	}
	for _, document := range documents {
		e := newEdge(t, func(c *Config) { c.Introspection, c.Limits.Pastes = true, 100 })
		e.onMany = func(context.Context, []string) ([]library.Node, error) { return nil, nil }
		for _, value := range []string{`{}`, `{"x":null}`, `{"x":5}`, `{"x":1e400}`, `{"x":[]}`, `{"x":[null]}`, `{"x":[[]]}`,
			`{"x":{}}`, `{"x":{"kinds":[null]}}`, `{"x":{"kinds":null,"text":null}}`, `{"x":"LINK"}`, `{"x":true}`} {
			a := e.send(t, `{"query":`+string(quoted(document))+`,"variables":`+value+`}`)
			if a.Code != http.StatusOK || e.log.Len() > 0 {
				t.Errorf("%s with %s: %d %.500s, log %.500s", document, value, a.Code, a.Body, e.log.String())
				break
			}
		}
	}
}
