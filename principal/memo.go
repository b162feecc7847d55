package principal

import "sync"

// memo keeps the principals that a viewer was shown in this request:
// a page asks for its owner again, who has often created its items too. Only
// who was found visible is kept, so what it gives was judged in this request.
type memo struct {
	mu      sync.Mutex
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
		if headers[i] = m.headers[id]; headers[i] == nil {
			missing = append(missing, id)
		}
	}
	return missing, m.age
}

// keep adds headers that the viewer may see, unless they were read before they
// were to be forgotten.
func (m *memo) keep(headers []*Header, age int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.age != age {
		return
	}
	if m.headers == nil {
		m.headers = make(map[ID]*Header, len(headers))
	}
	for _, h := range headers {
		m.headers[h.ID] = h
	}
}

func (m *memo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.headers = nil
	m.age++
}
