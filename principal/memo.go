package principal

import "sync"

// memo keeps the principals that a viewer was shown in this request:
// a page asks for its owner again, who has often created its items too. Only
// who was found visible is kept, so what it gives was judged in this request.
type memo struct {
	mu sync.Mutex
	// few are the headers while there are no more than fewHeaders, and headers is all of
	// them then: a request looks for some, and a map of them costs more than looking.
	few     []*Header
	headers map[ID]*Header
	// age rises with forget: what was read before it is not kept after it.
	age int
}

// known puts the headers kept of ids in their places, and tells which ids are
// to be read, and as of when.
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

// fewHeaders are kept without a map.
const fewHeaders = 24

// find is the header kept of id; nil if there is none. m.mu is held.
func (m *memo) find(id ID) *Header {
	for _, h := range m.few {
		if h.ID == id {
			return h
		}
	}
	return m.headers[id]
}

// keep adds headers that the viewer may see, unless they were read before they
// were to be forgotten.
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
