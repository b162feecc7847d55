package edge

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"carrel/edge/jsontext"
)

// decodeURL reads a GET request: the members are parameters of the URL, variables and extensions as
// JSON. As in a body, the last of duplicate members counts. An empty member counts as missing,
// except query.
func decodeURL(raw string, l *Limits) (params, *refusal) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return params{}, badRequest("The query of the URL cannot be read.")
	}
	last := func(name string) string {
		if v := values[name]; len(v) > 0 {
			return v[len(v)-1]
		}
		return ""
	}
	p := params{query: last("query"), hasQuery: values.Has("query"), documentID: last("documentId"), operationName: last("operationName")}
	if !utf8.ValidString(p.query) || !utf8.ValidString(p.operationName) {
		return params{}, badRequest("The query of the URL is not in UTF-8.")
	}
	var m members
	for _, part := range []struct {
		name string
		into *[]byte
	}{{"variables", &m.variables}, {"extensions", &m.extensions}} {
		text := strings.Trim(last(part.name), jsontext.Space)
		if text == "" {
			continue
		}
		if refused := checkJSON([]byte(text), "The parameter "+part.name+" of the URL", l); refused != nil {
			return params{}, refused
		}
		*part.into = []byte(text)
	}
	decoded, refused := m.decode()
	p.variables, p.hash, p.cost = decoded.variables, decoded.hash, decoded.cost
	return p, refused
}

// checkGET refuses a GET that a page of another site may have caused without a preflight request:
// one that has a cookie or comes from another site, unless it has a header that such a page cannot
// add.
func checkGET(r *http.Request) *refusal {
	_, cookies := r.Header["Cookie"]
	site := r.Header.Get("Sec-Fetch-Site")
	foreign := site != "" && site != "same-origin" && site != "none"
	if !cookies && !foreign && !foreignOrigin(r) {
		return nil
	}
	if r.Header.Get("Apollo-Require-Preflight") != "" || r.Header.Get("X-Apollo-Operation-Name") != "" || checkContentType(r.Header) == nil {
		return nil
	}
	return refuse(http.StatusBadRequest, codeCSRFBlocked,
		"A GET with cookies or from another site needs the header Apollo-Require-Preflight, X-Apollo-Operation-Name or "+
			"Content-Type: application/json.")
}

// foreignOrigin reports whether the Origin is another site's. Browsers older than Sec-Fetch-Site
// send it too.
func foreignOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host) || u.Host == ""
}
