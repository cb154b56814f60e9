# Writes FOLDER/LINE/command and FOLDER/LINE/expected for each `$ shardplan` of the ```console blocks.
function start(line) {
    place = folder "/" NR
    system("mkdir -p " place)
    sub(/^\$ /, "", line)
    print line > (place "/command")
    printf "" > (place "/expected")
    continued = line ~ /\\$/
}
/^```console/ { block = 1; place = ""; next }
/^```/ { block = 0; place = ""; next }
!block { next }
continued { print > (place "/command"); continued = /\\$/; next }
/^\$ shardplan / { start($0); next }
/^\$ / { place = ""; next }
place != "" { print > (place "/expected") }
