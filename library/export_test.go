package library

// SharesWaiting returns the number of shares of an item that wait for a commit.
func (s *Service) SharesWaiting(id ContentID) int {
	s.shares.mu.Lock()
	defer s.shares.mu.Unlock()
	return len(s.shares.waiting[id])
}
