package edge

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// mediaType is the media type of an answer.
type mediaType uint8

const (
	mediaNone    mediaType = iota // nothing acceptable
	mediaJSON                     // application/json
	mediaGraphQL                  // application/graphql-response+json
)

// contentType returns the value of the Content-Type header.
func (m mediaType) contentType() string {
	if m == mediaGraphQL {
		return "application/graphql-response+json; charset=utf-8"
	}
	return "application/json; charset=utf-8"
}

// accepted is what a client accepts as an answer.
type accepted struct {
	// media is the media type of a single response, or mediaNone if the client accepts none.
	media mediaType
	// events reports that the client accepts server-sent events, stream that it prefers them to a
	// single response.
	events, stream bool
}

// negotiate chooses from the Accept headers the media type with the highest q. If two are equal it
// chooses application/graphql-response+json if that is named, application/json if only that is
// named, and defaultMedia if neither is. It chooses events only if the client prefers them to
// everything else: clients list them in every request, but need them for subscriptions only.
func negotiate(accept []string, defaultMedia mediaType) accepted {
	if len(accept) == 0 {
		return accepted{media: defaultMedia}
	}
	if len(accept) == 1 {
		switch accept[0] {
		case "", "*/*":
			return accepted{media: defaultMedia}
		case "application/json":
			return accepted{media: mediaJSON}
		case "application/graphql-response+json":
			return accepted{media: mediaGraphQL}
		}
	}
	var json, graphql, events preference
	for _, header := range accept {
		for part := range strings.SplitSeq(header, ",") {
			name, q := acceptPart(part)
			switch name {
			case "application/json":
				json.take(q, 3)
			case "application/graphql-response+json":
				graphql.take(q, 3)
			case "text/event-stream":
				events.take(q, 3)
			case "application/*":
				json.take(q, 2)
				graphql.take(q, 2)
			case "*/*":
				json.take(q, 1)
				graphql.take(q, 1)
			}
		}
	}
	out := accepted{media: defaultMedia, events: events.q > 0, stream: events.q > max(json.q, graphql.q)}
	switch {
	case graphql.q <= 0 && json.q <= 0:
		out.media = mediaNone
	case graphql.q > json.q, graphql.precision == 3 && graphql.q == json.q:
		out.media = mediaGraphQL
	case json.q > graphql.q, json.precision == 3:
		out.media = mediaJSON
	}
	return out
}

// preference is how much a media type is preferred, by the most specific matching range.
type preference struct {
	q         float64
	precision int
}

func (p *preference) take(q float64, precision int) {
	if precision > p.precision {
		*p = preference{q, precision}
	}
}

// acceptPart reads one range with its q. An unreadable q counts as 1, because a client that writes
// one wants an answer. The name is empty if part is not a range.
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

// checkContentType refuses bodies that are not plain JSON in UTF-8. Requiring JSON also makes
// browsers send a preflight request before they send one from another site.
func checkContentType(h http.Header) *refusal {
	if encodings := h["Content-Encoding"]; len(encodings) > 1 || len(encodings) == 1 && !strings.EqualFold(encodings[0], "identity") {
		return refuse(http.StatusUnsupportedMediaType, codeUnsupportedMedia, "A request body must not have a content encoding.")
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
	return refuse(http.StatusUnsupportedMediaType, codeUnsupportedMedia, "A request body must be application/json in UTF-8.")
}
