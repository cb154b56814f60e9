# Sizes of files and functions. A function starts at `{` in column 1 and ends at `}` in column 1
# (tools/format sees to that); its head is the lines above, back to an empty or finished line.
# Readers of a key that need the range and the fallback beside the usual five.
BEGIN { excused = "json_open_text json_read_u32_or json_read_double_or" }
function name_of(head) {
    sub(/\(.*/, "", head)
    sub(/.*[ *]/, "", head)
    return head
}
function fault(line, text) { print file ":" line ": " text; faults++ }
function end_of_file() {
    if (file == "") return
    if (lines > 600) fault(1, lines " lines, at most 600: one idea per file")
    else if (lines > 500) print file ": warning: " lines " lines, better at most 500"
}
function parameters(head,    depth, i, c, n) {
    sub(/^[^(]*\(/, "", head)
    if (head ~ /^void\)/) return 0
    n = 1
    depth = 1
    for (i = 1; i <= length(head) && depth > 0; i++) {
        c = substr(head, i, 1)
        if (c == "(") depth++
        else if (c == ")") depth--
        else if (c == "," && depth == 1) n++
    }
    return n
}
FNR == 1 { end_of_file(); file = FILENAME; sub(/^\.\//, "", file); lines = 0; head = ""; inside = 0 }
{ lines++ }
/\t/ { fault(FNR, "a tab; indent by 4 spaces") }
/[ \t]$/ { fault(FNR, "blanks at the end of the line") }
length($0) > 100 {
    # Bytes that continue a UTF-8 character take no column.
    plain = $0
    gsub(/[\200-\277]/, "", plain)
    if (length(plain) > 100) fault(FNR, length(plain) " columns, at most 100")
}
lines == 1 && !/^\/\*/ { fault(1, "opens without a comment that states its idea") }
inside && /^}/ {
    inside = 0
    size = FNR - start
    count[size]++
    functions++
    if (size > 80) fault(start, "a function of " size " lines, at most 80")
    if (deepest > 3) fault(deepest_line, "nested " deepest " deep, at most 3")
    head = ""
    next
}
inside {
    # Only lines that open a block count; a broken argument list is indented by alignment.
    if ($0 ~ /\{$/ && $0 ~ /^ *(if|for|while|do|switch|} else)/) {
        match($0, /^ */)
        if (RLENGTH % 4 == 0 && RLENGTH / 4 > deepest) { deepest = RLENGTH / 4; deepest_line = FNR }
    }
    next
}
/^\{$/ && head ~ /\(/ {
    inside = 1
    start = FNR
    deepest = 0
    if (head ~ /^static / || file ~ /^tests\//) statics++
    if (parameters(head) > 6 && index(" " excused " ", " " name_of(head) " ") == 0)
        fault(start - 1, parameters(head) " parameters, at most 6")
    next
}
/^$/ || /^#/ || /;$/ || /\*\/$/ { head = ""; next }
{ head = head $0 }
END {
    end_of_file()
    for (size = 0; size <= 1000; size++) {
        seen += count[size]
        if (!median && seen >= functions * 0.5) median = size
        if (!ninth && seen >= functions * 0.9) ninth = size
    }
    printf "%d functions: median %d lines, p90 %d, %d%% static\n", functions, median, ninth,
        functions ? 100 * statics / functions : 0
    if (median > 15) { print "the median function has " median " lines, at most 15"; faults++ }
    if (ninth > 45) { print "one function in ten has more than 45 lines: " ninth; faults++ }
    exit faults > 0
}
