package edge

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCost_CountsWhatAnOperationMayRead(t *testing.T) {
	ids := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = fmt.Sprint("c:a:", i)
		}
		return list
	}
	for name, c := range map[string]struct {
		query     string
		variables map[string]any
		want      int
	}{
		"leaves are free":  {`{__typename}`, nil, 0},
		"a long text":      {`{node(id:"x"){...on Content{title description}}}`, nil, 1 + 1},
		"each alias of it": {`{viewer{library(first:7){nodes{id a:description b:description}}}}`, nil, 2 + 7*(1+2)},
		"a long text in a fragment": {`{viewer{library(first:7){edges{node{...A}}}}} fragment A on Content{description createdBy{id}}`,
			nil, 2 + 7*(1+1+1+1)},
		"of each node":             {`{nodes(ids:["a","b"]){...on Content{description}}}`, nil, 2 * (1 + 1)},
		"of an item of a page":     {`{viewer{library(first:2){nodes{members(first:5){nodes{id}}description}}}}`, nil, 2 + 2*(1+1+1+5+5)},
		"an object":                {`{viewer{id displayName}}`, nil, 1},
		"a connection by default":  {`{viewer{library{bucket}}}`, nil, 2},
		"a page by default":        {`{viewer{library{edges{node{id}}}}}`, nil, 2 + 20*2},
		"a page":                   {`{viewer{library(first:100){edges{node{id}}}}}`, nil, 2 + 100*2},
		"the last ones":            {`{viewer{library(last:7){nodes{id}}}}`, nil, 2 + 7},
		"none":                     {`{viewer{library(first:0){nodes{id}}}}`, nil, 2},
		"in a variable":            {`query($n:Int){viewer{library(first:$n){nodes{id}}}}`, map[string]any{"n": 7}, 2 + 7},
		"default of a variable":    {`query($n:Int=7){viewer{library(first:$n){nodes{id}}}}`, nil, 2 + 7},
		"a variable left out":      {`query($n:Int){viewer{library(first:$n){nodes{id}}}}`, nil, 2 + 20},
		"null":                     {`{viewer{library(first:null){nodes{id}}}}`, nil, 2 + 20},
		"the last, the first null": {`{viewer{library(first:null,last:7){nodes{id}}}}`, nil, 2 + 7},
		"the last in a variable": {`query($f:Int,$l:Int){viewer{library(first:$f,last:$l){nodes{id}}}}`,
			map[string]any{"f": nil, "l": 7}, 2 + 7},
		"first and last":     {`{viewer{library(last:7,first:3){nodes{id}}}}`, nil, 2 + 3},
		"none in a variable": {`query($n:Int){viewer{library(first:$n){nodes{id}}}}`, map[string]any{"n": 0}, 2},
		"of what is skipped": {`{viewer{library(first:7){nodes @skip(if:true){id}}}}`, nil, 2 + 7},
		"the same page in two sets": {`{viewer{library(first:7){nodes{id}} ...A}} fragment A on User{library(first:7){nodes{title}}}`,
			nil, 1 + 2*(1+7)},
		"a filter":                     {`{viewer{library(first:7,filter:{text:"a"}){nodes{id}}}}`, nil, 2 + 2000 + 7},
		"a filter without a condition": {`{viewer{library(first:7,filter:{}){nodes{id}}}}`, nil, 2 + 2000 + 7},
		"no filter":                    {`{viewer{library(first:7,filter:null){nodes{id}}}}`, nil, 2 + 7},
		"a filter in a variable": {`query($f:LibraryFilter){viewer{library(first:7,filter:$f){nodes{id}}}}`,
			map[string]any{"f": map[string]any{"text": "a"}}, 2 + 2000 + 7},
		"no filter in a variable": {`query($f:LibraryFilter){viewer{library(first:7,filter:$f){nodes{id}}}}`,
			map[string]any{"f": nil}, 2 + 7},
		"a filter left out":     {`query($f:LibraryFilter){viewer{library(first:7,filter:$f){nodes{id}}}}`, nil, 2 + 7},
		"a filter by default":   {`query($f:LibraryFilter={text:"a"}){viewer{library(first:7,filter:$f){nodes{id}}}}`, nil, 2 + 2000 + 7},
		"variables in a filter": {`query($t:String){viewer{library(first:7,filter:{text:$t}){nodes{id}}}}`, nil, 2 + 2000 + 7},
		"a filter of each node": {`{nodes(ids:["a","b"]){...on User{library(first:7,filter:{text:"a"}){nodes{id}}}}}`,
			nil, 2 * (1 + 1 + 2000 + 7)},
		"two filters": {`{viewer{a:library(first:7,filter:{text:"a"}){bucket} b:library(first:7,filter:{text:"b"}){bucket}}}`,
			nil, 1 + 2*(1+2000)},
		"pages of each node": {`{nodes(ids:["a","b"]){...on User{library(first:7){nodes{id}}groups(first:3){nodes{id}}}}}`,
			nil, 2 * (1 + 1 + 7 + 1 + 5 + 3)},
		"page info counts too": {`{viewer{library{nodes{id} pageInfo{hasNextPage}}}}`, nil, 2 + 20*2},
		"a count is read once": {`{viewer{library(first:100){count{value} nodes{id}}}}`, nil, 2 + 100 + 100},
		"a count in a fragment": {`{viewer{library(first:100){...A nodes{id}}}} fragment A on LibraryConnection{count{value}}`,
			nil, 2 + 100 + 100},
		"counts of a page": {`{viewer{library(first:3){nodes{createdBy{library{count{value}}}}}}}`, nil, 2 + 3*(1+1+1+100)},
		"nested pages":     {`{viewer{library(first:3){nodes{members(first:5){nodes{id}}}}}}`, nil, 2 + 3*(1+1+5+5)},
		"a fragment twice": {`{viewer{...A} user(id:"x"){...A}} fragment A on User{library{nodes{id}}}`, nil, 2 * (2 + 20)},
		"inline fragments": {`{viewer{...{library{nodes{id}}}}}`, nil, 2 + 20},
		"suggestions":      {`{content(id:"c:a:b"){suggestions(first:0){nodes{id}}}}`, nil, 2 + 5},
		"people by a prefix": {`{principals(tenant:"a",prefix:"b",first:7){nodes{id} edges{node{...on User{library(first:3){nodes{id}}}}}}}`,
			nil, 1 + 20 + 7*(1+1+1+1+3)},
		"nodes by literal ids": {`{nodes(ids:["a","b","c"]){...on User{library{nodes{id}}}}}`, nil, 3 * (1 + 1 + 20)},
		"each node is read":    {`{nodes(ids:["a","b","c"]){id}}`, nil, 3},
		"nodes by variable ids": {`query($i:[ID!]!){nodes(ids:$i){...on User{library{nodes{id}}}}}`,
			map[string]any{"i": ids(10)}, 10 * (1 + 1 + 20)},
		"nodes by a single id": {`query($i:[ID!]!){nodes(ids:$i){...on User{library{nodes{id}}}}}`, map[string]any{"i": "u:a:b"}, 1 + 21},
		"nodes by no id":       {`{nodes(ids:[]){...on User{library{nodes{id}}}}}`, nil, 1},
		"a hundred ids":        {`query($i:[ID!]!){nodes(ids:$i){id}}`, map[string]any{"i": ids(100)}, 100},
		"references": {`query($r:[_Any!]!){_entities(representations:$r){...on User{library{nodes{id}}}...on Content{createdBy{id}}}}`,
			map[string]any{"r": ids(10)}, 10 * (1 + 1 + 20 + 1)},
		"literal references": {
			`{_entities(representations:[{__typename:"User",id:"u:a:b"},{}]){...on User{library{nodes{id}}}}}`, nil, 2 * (1 + 1 + 20)},
		"a page of which nothing is selected":  {`{latestPastes(first:7){__typename}}`, nil, 1 + 7},
		"of a library, which is not read then": {`{viewer{library(first:7){__typename}}}`, nil, 2},
		"a feed":                               {`{latestContent(tenant:"a",first:7){nodes{id} pageInfo{endCursor}}}`, nil, 1 + 14},
		"the schema for composers":             {`{_service{sdl}}`, nil, 1},
		"faults of a mutation":                 {`mutation{` + anyMutation[:len(anyMutation)-1] + ` userErrors{code}}}`, nil, 3},
		"introspection is not ours":            {`{__schema{types{fields{name}}}}`, nil, 0},
		"a total is read once":                 {`{viewer{groups(first:100){totalCount nodes{id}}}}`, nil, 2 + 5 + 100 + 100},
		"totals of a page":                     {`{viewer{library(first:3){nodes{members(first:2){totalCount}}}}}`, nil, 2 + 3*(1+1+5+100)},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(c *Config) { c.Development = true })
			doc, r := e.handler.compiler.document(c.query)
			if r != nil {
				t.Fatal(r.errs)
			}
			op := doc.ast.Operations[0]
			values, r := coerce(e.handler.schema, op, asDecoded(t, e.handler.schema, op, c.variables))
			if r != nil {
				t.Fatal(r.errs)
			}
			asked, r := doc.sizes(values, &e.handler.limits)
			if r != nil {
				t.Fatal(r.errs)
			}
			if got := doc.cost(op, asked); got != c.want {
				t.Errorf("costs %d, want %d", got, c.want)
			}
			if overCost(c.want, c.want) != nil || overCost(c.want, c.want-1) == nil {
				t.Errorf("a cost of exactly the limit must be allowed, and one more refused")
			}
		})
	}
}

// TestSizes_VariablesOfOtherOperationsDoNotCount: page sizes in variables of another operation in
// the document do not count; literal ones do.
func TestSizes_VariablesOfOtherOperationsDoNotCount(t *testing.T) {
	e := newEdge(t, nil)
	for other, want := range map[string]string{
		`query A($n:Int=500){viewer{library(first:$n){bucket}}}`: "",
		`query A{viewer{library(first:500){bucket}}}`:            "BAD_USER_INPUT",
	} {
		if a := e.send(t, `{"operationName":"B","query":"`+other+` query B{viewer{id}}"}`); a.code() != want {
			t.Errorf("with %s: got %s, want %q", other, a.Body, want)
		}
	}
}

func TestCost_LimitIsEnforced(t *testing.T) {
	hundred := `{user(id:"x"){library(first:100){nodes{createdBy{library(first:100){nodes{createdBy{library(first:100){nodes{id}}}}}}}}}}`
	for name, query := range map[string]string{
		"100 x 100 x 100": hundred,
		"by fragments":    `{user(id:"x"){...A}} fragment A on User{library(first:100){nodes{createdBy{...B}}}} fragment B on User{library(first:100){nodes{createdBy{...C}}}} fragment C on User{library(first:100){nodes{id}}}`,
	} {
		e := newEdge(t, nil)
		a := e.query(t, query, nil)
		if a.code() != "COST_LIMIT" || e.calls.Load() != 0 || !strings.Contains(a.Errors[0].Message, "at most 5000") {
			t.Errorf("%s: %d calls, %s", name, e.calls.Load(), a.Body)
		}
	}
}

func TestCost_DoesNotOverflow(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.Depth = 1000 })
	page := "library(first:100){nodes{createdBy{"
	q := `{viewer{` + strings.Repeat(page, 30) + "id" + strings.Repeat("}}}", 30) + "}}"
	if a := e.query(t, q, nil); a.code() != "COST_LIMIT" || !strings.Contains(a.Errors[0].Message, "more than a billion") {
		t.Errorf("%s", a.Body)
	}
}

func TestCost_IsReportedOnRequest(t *testing.T) {
	// In a synctest bubble no points are refilled between the request and its answer.
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, nil)
		const query = `"query":"{user(id:\"x\"){library(first:60){nodes{id}}}}"`
		if a := e.send(t, `{`+query+`}`); strings.Contains(a.Body.String(), "extensions") {
			t.Errorf("not requested: %s", a.Body)
		}
		if a := e.send(t, `{`+query+`,"extensions":{"cost":true}}`, "Authorization: Bearer ann"); !strings.HasSuffix(a.Body.String(),
			`,"extensions":{"cost":{"operation":62,"limit":5000,"points":6.2,"pointsLeft":29993}}}`) {
			t.Errorf("got %s", a.Body)
		}
	})
}

// sleep advances the time of a synctest bubble.
func sleep(d time.Duration) { <-time.After(d) }
