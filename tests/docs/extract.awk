# Writes FOLDER/LINE/command and FOLDER/LINE/expected for each `$ shardplan` of the ```console blocks,
# and WORK/NAME for each block that begins with ```json NAME.
function start(line) {
    place = folder "/" NR
    system("mkdir -p " place)
    sub(/^\$ /, "", line)
    print line > (place "/command")
    printf "" > (place "/expected")
    continued = line ~ /\\$/
}
/^```console/ { block = 1; place = ""; next }
/^```json [a-z.-]+$/ { written = work "/" $2; next }
/^```/ { block = 0; written = ""; place = ""; next }
written != "" { print > written; next }
!block { next }
continued { print > (place "/command"); continued = /\\$/; next }
/^\$ shardplan / { start($0); next }
/^\$ / { place = ""; next }
place != "" { print > (place "/expected") }
