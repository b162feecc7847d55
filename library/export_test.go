package library

// SharesWaiting is the number of shares of an item that wait to be carried.
func (s *Service) SharesWaiting(id ContentID) int {
	s.shares.mu.Lock()
	defer s.shares.mu.Unlock()
	return len(s.shares.waiting[id])
}
