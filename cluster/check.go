package cluster

// Check answers a configuration with its defaults filled in, or what is wrong
// with it and what is valid. It starts nothing.
func Check(config Config) (Config, error) {
	_, config, err := check(config)
	return config, err
}
