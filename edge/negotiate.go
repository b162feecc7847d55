package edge

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// mediaType is what an answer is written as.
type mediaType uint8

const (
	mediaNone    mediaType = iota // nothing acceptable
	mediaJSON                     // application/json
	mediaGraphQL                  // application/graphql-response+json
)

// contentType is the value of the header.
func (m mediaType) contentType() string {
	if m == mediaGraphQL {
		return "application/graphql-response+json; charset=utf-8"
	}
	return "application/json; charset=utf-8"
}

// negotiate chooses the media type by the Accept headers: of those acceptable
// the one of the higher q; at equal q application/graphql-response+json if it
// was asked for by name, application/json otherwise.
func negotiate(accept []string) mediaType {
	if len(accept) == 0 {
		return mediaJSON
	}
	if len(accept) == 1 {
		switch accept[0] {
		case "", "*/*", "application/json":
			return mediaJSON
		case "application/graphql-response+json":
			return mediaGraphQL
		}
	}
	var json, graphql preference
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			name, q := acceptPart(part)
			switch name {
			case "application/json":
				json.take(q, 3)
			case "application/graphql-response+json":
				graphql.take(q, 3)
			case "application/*":
				json.take(q, 2)
				graphql.take(q, 2)
			case "*/*":
				json.take(q, 1)
				graphql.take(q, 1)
			}
		}
	}
	named := graphql.precision == 3
	switch {
	case graphql.q <= 0 && json.q <= 0:
		return mediaNone
	case graphql.q > json.q, named && graphql.q == json.q:
		return mediaGraphQL
	}
	return mediaJSON
}

// preference is how much a media type is wanted, by the most precise of the
// ranges that match it.
type preference struct {
	q         float64
	precision int
}

func (p *preference) take(q float64, precision int) {
	if precision > p.precision {
		*p = preference{q, precision}
	}
}

// acceptPart reads one range with its q; a q that cannot be read counts as 1,
// for a client that writes one means to be answered. What is no range has no
// name.
func acceptPart(part string) (name string, q float64) {
	name, params, _ := strings.Cut(part, ";")
	q = 1
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "q") {
			continue
		}
		if f, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && f >= 0 && f <= 1 {
			q = f
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), q
}

// checkContentType refuses bodies that are not plain JSON in UTF-8. Demanding
// JSON also makes browsers ask before they send one from another site.
func checkContentType(h http.Header) *refusal {
	if encodings := h["Content-Encoding"]; len(encodings) > 1 || len(encodings) == 1 && !strings.EqualFold(encodings[0], "identity") {
		return refuse(http.StatusUnsupportedMediaType, codeUnsupportedMedia, "A request body is sent without a content encoding.")
	}
	types := h["Content-Type"]
	if len(types) == 1 && (types[0] == "application/json" || types[0] == "application/json; charset=utf-8") {
		return nil
	}
	if len(types) == 1 {
		media, params, err := mime.ParseMediaType(types[0])
		charset, given := params["charset"]
		if err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return refuse(http.StatusUnsupportedMediaType, codeUnsupportedMedia, "A request body is application/json, in UTF-8.")
}
