package edge

import (
	"net/http"
	"testing"
)

func TestNegotiate_ChoosesThePreferredMediaType(t *testing.T) {
	for name, c := range map[string]struct {
		accept []string
		want   mediaType
	}{
		"nothing":             {nil, mediaJSON},
		"empty":               {[]string{""}, mediaJSON},
		"anything":            {[]string{"*/*"}, mediaJSON},
		"any application":     {[]string{"application/*"}, mediaJSON},
		"JSON":                {[]string{"application/json"}, mediaJSON},
		"GraphQL":             {[]string{"application/graphql-response+json"}, mediaGraphQL},
		"with a charset":      {[]string{"application/graphql-response+json; charset=utf-8"}, mediaGraphQL},
		"both":                {[]string{"application/json, application/graphql-response+json"}, mediaGraphQL},
		"both in two headers": {[]string{"application/json", "application/graphql-response+json"}, mediaGraphQL},
		"JSON preferred":      {[]string{"application/graphql-response+json;q=0.5, application/json"}, mediaJSON},
		"GraphQL preferred":   {[]string{"application/graphql-response+json, application/json;q=0.9"}, mediaGraphQL},
		"what Apollo sends":   {[]string{"application/graphql-response+json,application/json;q=0.9"}, mediaGraphQL},
		"what urql sends": {[]string{"application/graphql-response+json, application/graphql+json, " +
			"application/json, text/event-stream, multipart/mixed"}, mediaGraphQL},
		"what browsers send":        {[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, mediaJSON},
		"JSON refused, rest taken":  {[]string{"application/json;q=0, */*"}, mediaGraphQL},
		"precise beats the range":   {[]string{"*/*;q=1, application/json;q=0.1, application/graphql-response+json;q=0.2"}, mediaGraphQL},
		"everything refused":        {[]string{"*/*;q=0"}, mediaNone},
		"only HTML":                 {[]string{"text/html"}, mediaNone},
		"only a stream":             {[]string{"text/event-stream"}, mediaNone},
		"upper case":                {[]string{"APPLICATION/JSON;Q=1"}, mediaJSON},
		"a q that cannot be read":   {[]string{"application/graphql-response+json;q=high, application/json;q=0.9"}, mediaGraphQL},
		"a q beyond one":            {[]string{"application/graphql-response+json;q=7, application/json;q=0.9"}, mediaGraphQL},
		"q of NaN":                  {[]string{"application/json;q=NaN"}, mediaJSON},
		"garbage":                   {[]string{";;,,=;q"}, mediaNone},
		"garbage beside JSON":       {[]string{";;,,, application/json"}, mediaJSON},
		"equal q below one":         {[]string{"application/json;q=0.3,application/graphql-response+json;q=0.3"}, mediaGraphQL},
		"a range above a named one": {[]string{"application/graphql-response+json;q=0.3, */*;q=0.8"}, mediaJSON},
	} {
		if got := negotiate(c.accept, mediaJSON).media; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestNegotiate_ChoosesEventsForThoseWhoAcceptThem(t *testing.T) {
	for name, c := range map[string]struct {
		accept         string
		events, stream bool
	}{
		"nothing":  {"", false, false},
		"anything": {"*/*", false, false},
		"any text": {"text/*", false, false},
		"what urql sends": {"application/graphql-response+json, application/graphql+json, application/json, " +
			"text/event-stream, multipart/mixed", true, false},
		"what graphql-sse sends": {"text/event-stream", true, true},
		"events preferred":       {"text/event-stream, application/json;q=0.9", true, true},
		"JSON preferred":         {"text/event-stream;q=0.9, application/json", true, false},
		"events refused":         {"text/event-stream;q=0, application/json", false, false},
	} {
		got := negotiate([]string{c.accept}, mediaJSON)
		if got.events != c.events || got.stream != c.stream {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestNegotiate_WildcardIsTheDefaultOfTheProfile(t *testing.T) {
	for _, accept := range [][]string{nil, {""}, {"*/*"}, {"application/*"}, {"text/html, */*;q=0.8"}} {
		if got := negotiate(accept, mediaGraphQL).media; got != mediaGraphQL {
			t.Errorf("%q: got %d", accept, got)
		}
	}
	if got := negotiate([]string{"application/json, */*;q=0.1"}, mediaGraphQL).media; got != mediaJSON {
		t.Errorf("got %d", got)
	}
}

func TestContentType_OnlyJSONInUTF8IsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		good   bool
	}{
		"JSON":                {http.Header{"Content-Type": {"application/json"}}, true},
		"in capitals":         {http.Header{"Content-Type": {"Application/JSON; Charset=\"UTF-8\""}}, true},
		"identity":            {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}, true},
		"none":                {http.Header{}, false},
		"twice":               {http.Header{"Content-Type": {"application/json", "text/plain"}}, false},
		"UTF-16":              {http.Header{"Content-Type": {"application/json; charset=utf-16"}}, false},
		"another JSON":        {http.Header{"Content-Type": {"application/ld+json"}}, false},
		"a GraphQL document":  {http.Header{"Content-Type": {"application/graphql"}}, false},
		"garbage":             {http.Header{"Content-Type": {"application/json; ;;="}}, false},
		"a list":              {http.Header{"Content-Type": {"text/plain, application/json"}}, false},
		"deflate":             {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"deflate"}}, false},
		"encoded twice":       {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "gzip"}}, false},
		"encoded in one line": {http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity, gzip"}}, false},
	} {
		if got := checkContentType(c.header) == nil; got != c.good {
			t.Errorf("%s: accepted %t", name, got)
		}
	}
}
