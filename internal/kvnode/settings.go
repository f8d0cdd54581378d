package kvnode

// applySettings applies the stored cluster settings on this node.
func (n *Node) applySettings(stored map[string]string) {
	changed, problems := n.o.Settings.Update(stored)
	if !changed {
		return
	}
	for _, err := range problems {
		n.o.Logger.Warn("a cluster setting was left out", "err", err)
	}
	v := n.o.Settings.Get()
	n.o.Logger.Info("cluster settings changed", "set", len(stored))
	for _, st := range n.Store.Stores() {
		st.SetSnapshotRate(v.SnapshotRate)
		st.SetSlowSync(v.SlowSync)
	}
	n.Balance.SettingsChanged()
}
