package library

import (
	"context"

	"carrel/core/sched"
)

// together runs tasks at the same time where the store is remote, and else one
// after the other.
func (s *Service) together(ctx context.Context, tasks []func() error) error {
	if s.remote {
		return sched.ForEach(ctx, s.rt, len(tasks), len(tasks), func(i int) error { return tasks[i]() })
	}
	for _, task := range tasks {
		if err := task(); err != nil {
			return err
		}
	}
	return nil
}
