package principal

import "sync"

// memo keeps the principals that a viewer was shown in this request, because a page often needs one
// several times: as the owner of the library and as the creator of items. It keeps only principals
// that were found visible, so that what it returns was authorized in this request.
type memo struct {
	mu sync.Mutex
	// few has the headers while there are at most fewHeaders. Beyond that, headers has all of them.
	// Most requests read only a few, and searching a short list costs less than a map.
	few     []*Header
	headers map[ID]*Header
	// age increases with each Forget, so that what was read before one is not kept after it.
	age int
}

// known fills in the headers of ids that it has. It returns the other ids, and the age to pass to
// keep after reading their headers.
func (m *memo) known(ids []ID, headers []*Header) (missing []ID, age int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, id := range ids {
		if headers[i] = m.find(id); headers[i] == nil {
			if missing == nil {
				missing = make([]ID, 0, len(ids)-i)
			}
			missing = append(missing, id)
		}
	}
	return missing, m.age
}

// fewHeaders is the number of headers that are kept without a map.
const fewHeaders = 24

// find returns the header of id; nil if it has none. The caller holds m.mu.
func (m *memo) find(id ID) *Header {
	for _, h := range m.few {
		if h.ID == id {
			return h
		}
	}
	return m.headers[id]
}

// keep adds headers that the viewer may see, unless they were read before the last Forget.
func (m *memo) keep(headers []*Header, age int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.age != age {
		return
	}
	if m.headers == nil && len(m.few)+len(headers) <= fewHeaders {
		m.few = append(m.few, headers...)
		return
	}
	if m.headers == nil {
		m.headers = make(map[ID]*Header, len(m.few)+len(headers))
		for _, h := range m.few {
			m.headers[h.ID] = h
		}
		m.few = nil
	}
	for _, h := range headers {
		m.headers[h.ID] = h
	}
}

func (m *memo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.few, m.headers = nil, nil
	m.age++
}
