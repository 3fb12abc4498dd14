package history

// A Batch is a run of consecutive events in columns, as they lie in the file.
// A reader that needs few columns touches few. The slices are valid until the
// next call of the reader.
type Batch struct {
	N       int
	Index   []int64
	Call    []int64
	Time    []int64 // nanoseconds
	Process []int32
	Conn    []int32
	Kind    []Kind
	Edge    []Edge
	Via     []Source
	Outcome []Outcome
	Reason  []uint8
	QoS     []uint8
	Flags   []Flags
	Node    []int16
	Stream  []int32
	Seq     []int64
	ID      []int64
	Value   []float64
	Text    func(i int) string
}
