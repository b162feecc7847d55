package simulator

func init() { overlaid = true }
