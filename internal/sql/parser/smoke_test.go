package parser
import ("testing";"os";"strings")
func TestSmoke(t *testing.T){
 b,_:=os.ReadFile("/tmp/smoke.sql")
 for _,q:=range strings.Split(string(b),"\n"){ if strings.TrimSpace(q)==""{continue}
  if _,err:=Parse(q);err!=nil{t.Errorf("%s\n   %v",q,err)}}
}
