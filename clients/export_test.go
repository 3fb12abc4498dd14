package clients

// Pid is the process of a driver on this machine.
func (d *Driver) Pid() int { return d.proc.(child).Process.Pid }
