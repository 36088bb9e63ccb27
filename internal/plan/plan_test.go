package plan
import ("testing";"snug/internal/gpu";"snug/internal/setup";"encoding/json";"fmt";"time")
func TestTry(t *testing.T){
 for _,x:=range []struct{m string; b,acc,seq float64; prec,card string}{{"gpt2",4,8,1024,"fp32","RTX-4090"},{"llama-3.2-1b",1,16,2048,"bf16","RTX-4090"},{"llama-3.1-8b",1,16,2048,"bf16","RTX-4090"},{"bert-base",8,32,256,"amp-fp16","T4"}}{
 s,err:=setup.Decode(map[string]any{"model":map[string]any{"name":x.m},"batch":x.b,"accumulation":x.acc,"seq":x.seq,"precision":x.prec},setup.Source{})
 if err!=nil{t.Fatal(err)}
 card,_:=gpu.Find(x.card)
 for range 2 {t0:=time.Now()
 p,err:=Search(Request{Setup:s,Card:card})
 if err!=nil{t.Fatal(err)}
 fmt.Println(x.m,time.Since(t0))
 if p.Recommended!=nil{
 fmt.Println(" today", p.Current.SamplesPerSecond,p.Current.Estimate.DevicePeak>>20,"rec",p.Recommended.Settings,p.Recommended.SamplesPerSecond,p.Recommended.Estimate.DevicePeak>>20)}
 for _,r:=range p.Ladder {if r.Choice!=nil{fmt.Println("  ",r.Name,r.Settings,r.SamplesPerSecond,r.Estimate.DevicePeak>>20)}}
 b,_:=json.Marshal(p.Levers); fmt.Println("  ",string(b)); b,_=json.Marshal(p.Rejected); fmt.Println("  ",string(b)); fmt.Println(p.Notes,p.Rescue)
 }}
}
