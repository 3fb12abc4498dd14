package site

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// writeMatrices writes the page of each matrix. One that was begun and has shown nothing
// yet has none.
func (s *site) writeMatrices() error {
	dirs, err := reports.Matrices(s.root)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		m, err := reports.ReadMatrix(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.Broken = append(s.Broken, fmt.Sprintf("matrix %s is not readable: %s", filepath.Base(dir), plain.Line(err.Error())))
			continue
		}
		if err := s.writeMatrix(m); err != nil {
			return fmt.Errorf("matrix %s: %w", m.ID, err)
		}
	}
	slices.SortStableFunc(s.Matrices, func(a, b *reports.MatrixView) int { return b.Started.Compare(a.Started) })
	return nil
}

func (s *site) writeMatrix(m reports.Matrix) error {
	view := reports.NewMatrixView(m, func(id string) string { return s.wayTo(id, "../../") })
	page, err := view.HTML("../../index.html")
	if err != nil {
		return err
	}
	document, err := reports.JSON(m)
	if err != nil {
		return err
	}
	s.Matrices = append(s.Matrices, view)
	dir := filepath.Join(reports.MatricesDir, m.ID)
	return errors.Join(s.file(filepath.Join(dir, "index.html"), page), s.file(filepath.Join(dir, reports.MatrixFile), document))
}

// wayTo is the way to the page of a run from a page that is so far below the site's first one,
// "" where it has none.
func (s *site) wayTo(id, up string) string {
	if r := s.byID[id]; r != nil && r.Page {
		return up + r.Path()
	}
	return ""
}
