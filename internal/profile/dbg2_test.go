package profile
import ("testing";"fmt";"os";"snug/internal/snapshot")
func TestDbg2(t *testing.T){
	name:=os.Getenv("DBG")
	var ins []Input
	for _,b:=range []int64{8,12}{
		f,_:=os.Open(fmt.Sprintf("/tmp/rg/recordings/%s/batch=%d.pickle",name,b))
		rec,err:=snapshot.Read(f); if err!=nil{t.Fatal(err)}
		ins=append(ins,Input{Name:"x",At:Point{"batch":b},Recording:rec})
	}
	f:=newFitter(ins)
	f.check()
	f.arrange()
	r:=f.ragged()
	a,b:=&r.sections[0][2],&r.sections[0][3]
	la,lb:=r.lives[0][a.first:a.next],r.lives[0][b.first:b.next]
	fmt.Println(shareStacks(la,lb), len(r.ratios(a.point,b.point)))
	for j,i:=range align(la,lb,r.ratios(a.point,b.point)){ y:=lb[j]; if i<0 { fmt.Println(j,"none",y); continue}; x:=la[i]; fmt.Println(j,i,x,y,x.stack==y.stack) }
}
