package builtin
import ("testing";"fmt";"os")
func TestDump(t *testing.T){
 f,_:=os.Create("/tmp/pgbuiltin/keys.txt")
 for _,o:=range All(){ k:="f"; if o.Operator {k="o"}; fmt.Fprintln(f,k,o.key(), o.Ret.Name, o.Volatility, o.Strict, o.IsSRF()) }
 for _,a:=range AllAggregates(){ fmt.Fprintln(f,"a",a.key(), a.Ret.Name,a.Volatility, a.Strict, false) }
 f.Close()
}
