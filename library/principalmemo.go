package library

import "sync"

// principalMemo keeps the principals that a viewer was shown in this request:
// a page asks for its owner again, who has often created its items too. Only
// who was found visible is kept, so what it gives was judged in this request.
type principalMemo struct {
	mu      sync.Mutex
	headers map[PrincipalID]*PrincipalHeader
	// age rises with forget: what was read before it is not kept after it.
	age int
}

// known puts the headers kept of ids in their places, and tells which ids are
// to be read, and as of when.
func (m *principalMemo) known(ids []PrincipalID, headers []*PrincipalHeader) (missing []PrincipalID, age int) {
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
func (m *principalMemo) keep(headers []*PrincipalHeader, age int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.age != age {
		return
	}
	if m.headers == nil {
		m.headers = make(map[PrincipalID]*PrincipalHeader, len(headers))
	}
	for _, h := range headers {
		m.headers[h.ID] = h
	}
}

func (m *principalMemo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.headers = nil
	m.age++
}
