# Compares the output (second file) with the example (first file), whose lines `...` match any lines;
# `...` within a line matches any text.
# Prints the first line of the example that does not fit.
FILENAME == ARGV[1] { want[++wants] = $0; next }
{ have[++haves] = $0 }
function same(want, have,    at) {
    while ((at = index(want, "...")) > 0) {
        if (substr(have, 1, at - 1) != substr(want, 1, at - 1)) return 0
        have = substr(have, at)
        want = substr(want, at + 3)
        if (want == "") return 1
        # The rest of the example starts where its next plain piece is found.
        at = index(want, "...")
        piece = at > 0 ? substr(want, 1, at - 1) : want
        if (at == 0) return length(have) >= length(piece) && substr(have, length(have) - length(piece) + 1) == piece
        at = index(have, piece)
        if (at == 0) return 0
        have = substr(have, at)
    }
    return want == have
}
# Does the run of plain lines want[first..last] stand at have[at]?
function stands(first, last, at,    i) {
    for (i = first; i <= last; i++) {
        if (at + i - first > haves || !same(want[i], have[at + i - first])) {
            if (i > farthest) farthest = i
            return 0
        }
    }
    return 1
}
END {
    at = 1
    for (first = 1; first <= wants + 1; first = last + 2) {
        last = first - 1
        while (last < wants && want[last + 1] != "...") last++
        open_start = first > 1
        open_end = last < wants
        size = last - first + 1
        if (!open_end && open_start) {
            if (haves - size + 1 < at || !stands(first, last, haves - size + 1)) fail(first)
            at = haves + 1
            break
        }
        while (!stands(first, last, at)) {
            if (!open_start || ++at > haves) fail(first)
        }
        at += size
        if (!open_end) break
    }
    if (at <= haves && (wants == 0 || want[wants] != "...")) print "more lines than the example, from: " have[at]
}
function fail(first) {
    print "does not fit: " (farthest >= first ? want[farthest] : want[first])
    exit
}
