package edge

import (
	"fmt"
	"strings"
	"testing"
)

// TestMutations_PayForTheirTexts: a mutation pays a point for each KiB of the texts in its arguments,
// in whatever form they are written and for each mutation that uses them.
func TestMutations_PayForTheirTexts(t *testing.T) {
	e := newEdge(t, nil)
	text := strings.Repeat("t", 100<<10)
	const create = `createPaste(input:$i){secret}`
	for name, c := range map[string]struct {
		query, variables string
		points           int
	}{
		"short":                {`mutation{createPaste(input:{body:"short"}){secret}}`, `{}`, 10},
		"just less than a KiB": {`mutation($b:String!){createPaste(input:{body:$b}){secret}}`, `{"b":"` + text[:1023] + `"}`, 10},
		"a KiB":                {`mutation($b:String!){createPaste(input:{body:$b}){secret}}`, `{"b":"` + text[:1024] + `"}`, 11},
		"in a variable":        {`mutation($b:String!){createPaste(input:{body:$b}){secret}}`, `{"b":"` + text + `"}`, 110},
		"in the input":         {`mutation($i:CreatePasteInput!){` + create + `}`, `{"i":{"body":"` + text + `"}}`, 110},
		"in a default":         {`mutation($b:String!="` + text[:10<<10] + `"){createPaste(input:{body:$b}){secret}}`, `{}`, 20},
		"in the document":      {`mutation{createPaste(input:{body:"` + text[:10<<10] + `"}){secret}}`, `{}`, 20},
		"in a block":           {`mutation{createPaste(input:{body:"""` + text[:10<<10] + `"""}){secret}}`, `{}`, 20},
		"written with escapes": {`mutation($b:String!){createPaste(input:{body:$b}){secret}}`,
			`{"b":"` + strings.Repeat(`\u00e9`, 512) + `"}`, 11},
		"one variable five times": {`mutation($i:CreatePasteInput!){a:` + create + `b:` + create + `c:` + create + `d:` +
			create + `e:` + create + `}`, `{"i":{"body":"` + text + `"}}`, 550},
		"not used": {`mutation($i:CreatePasteInput!){` + create + ` b:createPaste(input:$i)@skip(if:true){secret}}`,
			`{"i":{"body":"` + text + `"}}`, 110},
		"an update of a paste": {`mutation($b:String!){updatePaste(input:{id:"p",secret:"s",body:$b}){userErrors{code}}}`,
			`{"b":"` + text + `"}`, 110},
		"values of a lease, in lists": {`mutation($d:[LeaseDocumentInput!]!){acquireLease(input:{documents:$d}){userErrors{code}}}`,
			`{"d":[{"key":"a","value":"` + text[:2<<10] + `"},{"key":"b","value":"` + text[:2<<10] + `"}]}`, 14},
		"a draft": {`mutation($b:String!){saveDraft(input:{contentId:"c",title:"",body:$b}){userErrors{code}}}`,
			`{"b":"` + text + `"}`, 110},
		"a revision": {`mutation($b:String!){saveRevision(input:{contentId:"c",title:"t",body:$b}){userErrors{code}}}`,
			`{"b":"` + text + `"}`, 110},
		"a suggestion": {`mutation($b:String!){suggestRevision(input:{contentId:"c",title:"t",body:$b}){userErrors{code}}}`,
			`{"b":"` + text + `"}`, 110},
		"a query": {`query($i:ID!){paste(id:$i){id}}`, `{"i":"` + text[:1000] + `"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, refused := decodeBody([]byte(fmt.Sprintf(`{"query":%s,"variables":%s}`, quote(t, c.query), c.variables)), &e.handler.limits)
			if refused != nil {
				t.Fatal(refused.errs)
			}
			op, refused := e.handler.operation(t.Context(), p, account{})
			if refused != nil {
				t.Fatal(refused.errs)
			}
			if op.price != c.points*point {
				t.Errorf("costs %d hundredths of a point, want %d points", op.price, c.points)
			}
		})
	}
}
