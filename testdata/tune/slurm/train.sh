# train.sh BATCH ACCUMULATION CHECKPOINTING
# Stands in for the training command: it writes the probe's reports, with the memory and speed of a simulated 12 GiB card. MORE
# is how much more memory it uses than predicted, in percent; SLEEP is the duration of a step in seconds; BREAKS makes it fail.
batch=$1 accumulation=$2
case $batch-$3 in
16-false) reserved=11882463232 rate=380.5;;
8-false) reserved=7602176000 rate=195;;
32-true) reserved=11506024448 rate=326;;
16-true) reserved=7264534528 rate=250;;
*) reserved=4000000000 rate=100;;
esac
reserved=$((reserved + reserved / 100 * ${MORE:-0}))
exec 3> "$SNUG_RUN/7.jsonl"
echo '{"event":"start","time":1,"pid":7}
{"event":"torch","versions":{"torch":"2.11.0","transformers":"5.17.0"}}
{"event":"gpu","index":0,"name":"NVIDIA H200","total":150323855360,"capability":90}' >&3
if [ "${BREAKS:-}" ]; then echo "ValueError: this is the command's fault" >&2; exit 3; fi
if [ $reserved -gt 12884901888 ]; then
    sleep "${SLEEP:-0.2}"; sleep "${SLEEP:-0.2}"
    echo '{"event":"step","n":1,"backwards":'$accumulation'}
{"event":"oom","asked":2147483648}' >&3
    exit 1
fi
seconds=$(awk "BEGIN {print $batch * $accumulation / $rate}")
for n in 1 2 3 4 5 6 7 8 9; do
    sleep "${SLEEP:-0.2}"
    echo '{"event":"step","n":'$n',"optimizer":"AdamW","backwards":'$accumulation',"seconds":'$seconds',"peak_reserved":'$reserved'}' >&3
done
echo '{"event":"end","why":"steps"}' >&3
