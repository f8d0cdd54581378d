package ast

// rangesStatement prints the statements about ranges and zones; false if s is none.
func (p *printer) rangesStatement(s Statement) bool {
	switch s := s.(type) {
	case *Split:
		p.splitAt(s)
	case *Scatter:
		p.w("ALTER ")
		p.rangeSource(s.Source)
		p.w(" SCATTER")
		if s.From != nil {
			p.w(" FROM ")
			p.parenExprs(s.From)
			p.w(" TO ")
			p.parenExprs(s.To)
		}
	case *ConfigureZone:
		p.configureZone(s)
	case *ShowZone:
		p.w("SHOW ZONE CONFIGURATION FROM ")
		p.zoneTarget(s.Target)
	case *ShowRanges:
		p.showRanges(s)
	case *Inspect:
		p.w("INSPECT ")
		p.rangeSource(s.Source)
	default:
		return false
	}
	return true
}

func (p *printer) showRanges(s *ShowRanges) {
	p.w("SHOW ")
	p.opt(s.Cluster, "CLUSTER ")
	switch {
	case s.Survival:
		p.w("SURVIVAL")
	case s.Row != nil:
		p.w("RANGE")
	default:
		p.w("RANGES")
	}
	if s.Source != nil {
		p.w(" FROM ")
		p.rangeSource(*s.Source)
	}
	if s.Row != nil {
		p.w(" FOR ROW ")
		p.parenExprs(s.Row)
	}
	p.opt(s.Details, " WITH details")
}

func (p *printer) rangeSource(s RangeSource) {
	p.w(s.Kind.String(), " ")
	p.rangeName(s)
}

func (p *printer) rangeName(s RangeSource) {
	p.name(s.Name)
	p.optIdent("@", s.Index)
}

func (p *printer) zoneTarget(t ZoneTarget) {
	if t.Range != "" {
		p.w("RANGE ")
		p.zoneRange(t.Range)
		return
	}
	p.rangeSource(t.Source)
}

// zoneRange prints the name of a part of the key space. DEFAULT is a keyword that
// may stand here without quotes.
func (p *printer) zoneRange(n Name) {
	if n == "default" {
		p.w(n)
		return
	}
	p.ident(n)
}

// splitAt prints SPLIT AT and UNSPLIT.
func (p *printer) splitAt(s *Split) {
	p.w("ALTER ")
	p.rangeSource(s.Source)
	p.w([...]string{" SPLIT", " UNSPLIT"}[btoi(s.Unsplit)])
	if s.All {
		p.w(" ALL")
		return
	}
	if s.Into != nil {
		p.clause(" INTO ", s.Into)
		p.w(" TABLETS")
		return
	}
	p.w(" AT ")
	p.query(s.Rows)
	p.clause(" WITH EXPIRATION ", s.Expires)
}

func (p *printer) configureZone(s *ConfigureZone) {
	p.w("ALTER ")
	switch {
	case s.Target.Range != "":
		p.zoneTarget(s.Target)
	default:
		p.w(s.Target.Source.Kind.String(), " ")
		p.ifExists(s.IfExists)
		p.rangeName(s.Target.Source)
	}
	p.w(" CONFIGURE ZONE ")
	if s.Discard {
		p.w("DISCARD")
		return
	}
	p.w("USING ")
	p.list(len(s.Settings), func(i int) {
		p.settingName(s.Settings[i].Name)
		if s.Settings[i].Copy {
			p.w(" = COPY FROM PARENT")
			return
		}
		p.clause(" = ", s.Settings[i].Value)
	})
}
