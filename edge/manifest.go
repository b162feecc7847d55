package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"carrel/edge/jsontext"
)

// Manifest maps ids to the documents that a gateway answers. It is generated when a client is
// built.
type Manifest map[string]string

// ParseManifest reads a manifest: Apollo's, an object with a list "operations" of {"id", "body"},
// or an object of texts by id, as relay-compiler and GraphQL Code Generator write it. The prefix
// "sha256:" of an id is ignored.
func ParseManifest(b []byte) (Manifest, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil || members == nil {
		return nil, errors.New("the manifest is not a JSON object")
	}
	m := Manifest{}
	if list, ok := members["operations"]; ok && strings.HasPrefix(strings.TrimLeft(string(list), jsontext.Space), "[") {
		var operations []struct{ ID, Body string }
		if err := json.Unmarshal(list, &operations); err != nil {
			return nil, errors.New(`its operations are not a list of {"id", "body"}`)
		}
		for i, op := range operations {
			if err := m.add(op.ID, op.Body); err != nil {
				return nil, fmt.Errorf("operation %d: %w", i, err)
			}
		}
		return m, m.check()
	}
	for id, value := range members {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, fmt.Errorf("the document %q is not a string", id)
		}
		if err := m.add(id, text); err != nil {
			return nil, err
		}
	}
	return m, m.check()
}

func (m Manifest) add(id, text string) error {
	id = strings.TrimPrefix(id, hashPrefix)
	if id == "" || text == "" {
		return errors.New("an id or its document is empty")
	}
	if other, ok := m[id]; ok && other != text {
		return fmt.Errorf("the id %q is used for two documents", id)
	}
	m[id] = text
	return nil
}

func (m Manifest) check() error {
	if len(m) == 0 {
		return errors.New("the manifest has no documents")
	}
	return nil
}
