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
	view := reports.NewMatrixView(m, func(id string) string {
		if r := s.run(id); r != nil && r.Page {
			return "../../" + r.Path()
		}
		return ""
	})
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

// run returns the stored run of a name, nil where there is none.
func (s *site) run(id string) *run {
	i := slices.IndexFunc(s.Runs, func(r *run) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return s.Runs[i]
}
