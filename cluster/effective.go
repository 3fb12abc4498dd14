package cluster

// Effective is the configuration that the nodes of a cluster would get, by the
// flavor's own keys, as [history.ClusterInfo] has it of one that runs; nil where
// they are somebody else's. An error says what is valid. It looks at no file and
// starts nothing, so that a host without the broker can be asked.
func Effective(config Config) (map[string]any, error) {
	f, config, err := named(config)
	if err != nil {
		return nil, err
	}
	return f.effective(config)
}
