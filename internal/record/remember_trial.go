// SPDX-License-Identifier: Apache-2.0

package record

// Remember stores a trial that fits as a measured run, compared with its estimate if the plan has a reference. Later
// estimates take their interval from these runs.
func (s *Session) Remember(t *Trial, ref *Reference) error {
	if s.env.Store == nil || t.Report == nil || t.Report.PeakReserved() == 0 {
		return nil
	}
	if ref != nil {
		c, err := ref.compare(t)
		if err == nil {
			t.Comparison = c
		}
	}
	kept, err := s.env.Store()
	if err != nil {
		return err
	}
	defer kept.Close() //nolint:errcheck // Add has already written the run to disk
	return kept.Add(s.row(t))
}
