package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"carrel/core/lru"
)

// hashPrefix precedes the digest in a documentId.
const hashPrefix = "sha256:"

// persisted stores documents that clients request by their digest: those that clients have sent
// before, or only those of a manifest.
type persisted struct {
	manifest Manifest // if nil, any document is accepted
	// texts of the manifest, by digest.
	texts map[string]string
	// sent are other documents, by digest.
	sent *lru.Cache[string, sentDocument]
	// The documents of one account have at most share bytes, a quarter of all, and each counts at least least:
	// no account evicts the documents of all others.
	share, minimum int

	mu   sync.Mutex
	held map[string]int // these bytes by account
}

type sentDocument struct{ text, account string }

func newPersisted(m Manifest, limits *Limits) *persisted {
	p := &persisted{manifest: m, held: map[string]int{}}
	p.share, p.minimum = limits.PersistedBytes/4, limits.PersistedBytes/max(1, limits.PersistedDocuments)
	p.sent = lru.New[string](limits.PersistedDocuments, limits.PersistedBytes, func(d sentDocument) int { return len(d.text) }, p.free)
	if m != nil {
		p.texts = make(map[string]string, len(m))
		for _, text := range m {
			p.texts[digest(text)] = text
		}
	}
	return p
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// resolve sets the query that p names by its digest or id. keep is the digest to store the query
// under once it is found valid, or "".
func (d *persisted) resolve(p *params) (keep string, r *refusal) {
	id, hash, r := p.identify()
	if r != nil {
		return "", r
	}
	if id == "" && !p.hasQuery {
		return "", malformed("The member query is missing.")
	}
	if id != "" && p.hasQuery && hash != digest(p.query) && d.manifest[id] != p.query {
		return "", badRequest("The digest is not that of the query.")
	}
	switch {
	case d.manifest != nil:
		return "", d.fromManifest(p, id, hash)
	case p.hasQuery:
		return hash, nil
	case hash == "":
		return "", malformed("The member documentId takes the form sha256:<64 hexadecimal digits>.")
	}
	sent, ok := d.sent.Get(hash)
	if !ok {
		return "", notPersisted()
	}
	p.query = sent.text
	return "", nil
}

// keep stores a valid text that an account has sent, unless the account has used its share.
func (d *persisted) keep(hash, text, account string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := max(d.minimum, len(text))
	if _, ok := d.sent.Get(hash); ok || d.held[account]+counts > d.share {
		return
	}
	d.held[account] += counts
	d.sent.Put(hash, sentDocument{text, account})
}

// free takes a document out of the share of its account. keep calls it.
func (d *persisted) free(s sentDocument) {
	if d.held[s.account] -= max(d.minimum, len(s.text)); d.held[s.account] == 0 {
		delete(d.held, s.account)
	}
}

// identify returns the id of a document as it was sent, and the digest if the id is one.
func (p *params) identify() (id, hash string, r *refusal) {
	id = p.documentID
	if p.hash != "" {
		if id != "" && strings.TrimPrefix(id, hashPrefix) != p.hash {
			return "", "", badRequest("documentId and the extension persistedQuery name different documents.")
		}
		if !isDigest(p.hash) {
			return "", "", malformed("A sha256Hash has 64 hexadecimal digits in lower case.")
		}
		return p.hash, p.hash, nil
	}
	if hash, ok := strings.CutPrefix(id, hashPrefix); ok && isDigest(hash) {
		return hash, hash, nil
	}
	return id, "", nil
}

// isDigest reports whether s is a SHA-256 in lower-case hexadecimal digits.
func isDigest(s string) bool {
	if len(s) != hex.EncodedLen(sha256.Size) || s != strings.ToLower(s) {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

// fromManifest accepts only documents of the manifest. A client may also send the text of one.
func (d *persisted) fromManifest(p *params, id, hash string) *refusal {
	if p.hasQuery {
		if _, ok := d.texts[digest(p.query)]; !ok {
			return notPersisted()
		}
		return nil
	}
	text, ok := d.manifest[id]
	if !ok {
		text, ok = d.texts[hash]
	}
	if !ok {
		return notPersisted()
	}
	p.query = text
	return nil
}

// notPersisted asks a client to send the text. Apollo's clients look for the message, others for
// the code.
func notPersisted() *refusal {
	return refuseDocument(codePersistedNotFound, "PersistedQueryNotFound")
}
