package profile
import ("testing";"fmt";"os";"sort";"snug/internal/snapshot";"strings")
func TestDbg(t *testing.T){
	name:=os.Getenv("DBG")
	var ins []Input
	for _,b:=range []int64{8,12}{
		f,_:=os.Open(fmt.Sprintf("/tmp/rg/recordings/%s/batch=%d.pickle",name,b))
		rec,err:=snapshot.Read(f); if err!=nil{t.Fatal(err)}
		ins=append(ins,Input{Name:"x",At:Point{"batch":b},Recording:rec})
	}
	f:=newFitter(ins)
	if err:=f.check();err!=nil{t.Fatal(err)}
	f.arrange()
	r:=f.ragged()
	if err:=r.fit();err!=nil{t.Fatal(err)}
	fmt.Println("CANDIDATES",r.table.candidates)
	fmt.Println("CHOSEN",r.program.ragged.quantities,r.program.ragged.data.Rules,r.program.ragged.data.Source,r.program.ragged.data.Order,r.program.ragged.data.Unit)
	for k:=range r.sections{ fmt.Print("sections ");for _,s:=range r.sections[k]{fmt.Print(s.next-s.first," ")};fmt.Println()}
	// first alloc of each root
	where:=map[int32]string{}
	for k:=range r.inputs{ d:=r.devices[k]; for i:=range d.Trace.Events{ e:=&d.Trace.Events[i]; if e.Kind!=0{continue}; if int(e.ID)>=len(r.lives[k]){continue}; root:=r.families.of(k,e.ID); if _,ok:=where[root];!ok && d.Stacks!=nil{
		var fr []string
		for _,x:=range r.inputs[k].Recording.Stacks[d.Stacks[i]]{ ff:=r.inputs[k].Recording.Frames[x]; fr=append(fr,fmt.Sprintf("%s:%d:%s",ff.File[strings.LastIndex(ff.File,"/")+1:],ff.Line,ff.Name)); if len(fr)>4{break}}
		where[root]=strings.Join(fr," < ")}}}
	if g:=os.Getenv("GREP");g!=""{
		for _,root:=range r.order{ m:=r.members[root]; if !strings.Contains(where[root],g){continue}; fmt.Print(len(m.obs),m.odd," "); for _,o:=range m.obs{fmt.Print(r.stepValues(o.recording),r.table.values[o.recording][0],"=",o.size," ")}; if x:=r.sums.solve(m.obs,maxTerms);x!=nil{fmt.Print(x.terms,x.certainty)}; fmt.Println()}
	}
	type un struct{root int32; w uint64; why string}
	var all []un
	tot:=uint64(0); bad:=uint64(0)
	for _,root:=range r.order{ m:=r.members[root]; w:=uint64(0); for _,o:=range m.obs{w+=o.size}; tot+=w
		why:=""
		if m.odd{why="odd"} else if len(m.obs)==1{why="alone"} else if x:=r.sums.solve(m.obs,maxTerms);x==nil{why="none"} else if x.certainty!=Exact {why="fitted"}
		if why!=""{all=append(all,un{root,w,why});bad+=w}
	}
	fmt.Println("unsolved",bad,"of",tot)
	sort.Slice(all,func(i,j int)bool{return all[i].w>all[j].w})
	for i,u:=range all{ if i>=14{break}; m:=r.members[u.root]; fmt.Println(u.why,len(m.obs),where[u.root]); for _,o:=range m.obs{fmt.Print(r.stepValues(o.recording),r.table.values[o.recording][0],"=",o.size," ")}; fmt.Println(r.sums.nearest(m.obs).terms) }
}
