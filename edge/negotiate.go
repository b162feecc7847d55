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

// accepted is what a client takes for an answer.
type accepted struct {
	// media is that of an answer in one piece; mediaNone: the client takes none.
	media mediaType
	// events tells that it takes server-sent events, and stream that it wants
	// them even where one piece would do.
	events, stream bool
}

// negotiate chooses by the Accept headers: of the media types acceptable the
// one of the higher q; at equal q application/graphql-response+json if it was
// asked for by name, application/json otherwise. Events are for those who want
// nothing else as much: clients list them in every request because they can
// read them, and mean them for subscriptions. unsaid is the media type where
// the client has no preference.
func negotiate(accept []string, unsaid mediaType) accepted {
	if len(accept) == 0 {
		return accepted{media: unsaid}
	}
	if len(accept) == 1 {
		switch accept[0] {
		case "", "*/*":
			return accepted{media: unsaid}
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
	out := accepted{media: unsaid, events: events.q > 0, stream: events.q > max(json.q, graphql.q)}
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
