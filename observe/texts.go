package observe

import (
	"context"

	"carrel/page"
)

func (s *measuredStore) textCalls() []namedCall {
	return []namedCall{
		{&s.putText, "PutText"},
		{&s.readTexts, "ReadTexts"},
		{&s.dropTexts, "DropTexts"},
		{&s.scanTexts, "ScanTexts"},
	}
}

func (s *measuredStore) PutText(ctx context.Context, t page.Text) error {
	ctx, call := s.putText.begin(ctx)
	err := s.next.PutText(ctx, t)
	call.ended(err)
	return err
}

func (s *measuredStore) ReadTexts(ctx context.Context, ids []page.TextID) ([]page.Text, error) {
	ctx, call := s.readTexts.begin(ctx)
	v, err := s.next.ReadTexts(ctx, ids)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropTexts(ctx context.Context, ids []page.TextID) error {
	ctx, call := s.dropTexts.begin(ctx)
	err := s.next.DropTexts(ctx, ids)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanTexts(ctx context.Context, after page.TextID, limit int) ([]page.Text, error) {
	ctx, call := s.scanTexts.begin(ctx)
	v, err := s.next.ScanTexts(ctx, after, limit)
	call.ended(err)
	return v, err
}
