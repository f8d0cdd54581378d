package routine

// Trigger is what a trigger function is called for.
type Trigger struct{}

// declareTrigger declares what trigger functions know.
func (p *program) declareTrigger(*frame) {}
