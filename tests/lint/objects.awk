# Reads `libm NAME` lines, then what objdump -t prints of the libraries; prints each fault.
BEGIN {
    # Who may do what: the arena owns the heap, base/diag.c reports our bugs and ends the program.
    words("malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf getline getdelim " \
          "aligned_alloc posix_memalign open_memstream scandir", "allocates: use the arena", "arena.c")
    words("printf vprintf puts putchar perror stdout stderr", "prints: append to the diag", "arena.c diag.c")
    words("exit _exit abort", "ends the program: return false", "arena.c diag.c")
    words("time clock clock_gettime gettimeofday rand srand random", "makes the answer vary", "")
    words("getenv", "reads the environment: take a parameter", "data_folder.c")
    split("dim collective schedule policy exporter importer hf_family strategy", sets, " ")
    allowed_global["json.c", "json_limits"] = 1
}
function words(list, why, files,    names, i) {
    split(list, names, " ")
    for (i in names) { reason[names[i]] = why; excused[names[i]] = " " files " " }
}
function starts_with(symbol, noun) {
    sub(/s$/, "", noun)
    return symbol == noun || symbol == noun "s" || index(symbol, noun "_") == 1 || index(symbol, noun "s_") == 1
}
# A member is SET_NAME; else the noun is the first word of the file's name, or its folder's name.
function is_named_after(symbol, stem,    i) {
    gsub(/-/, "_", stem)
    for (i in sets) if (symbol == sets[i] "_" stem) return 1
    sub(/_.*/, "", stem)
    return starts_with(symbol, stem) || starts_with(symbol, folder)
}
function fault(text) { print source ": " text; faults++ }
$1 == "libm" { if ($2 != "sqrt") libm[$2] = 1; next }
/^In archive / { folder = $NF; sub(/.*\/lib/, "", folder); sub(/\.a:$/, "", folder); next }
$2 == "l" && $3 == "df" { source = $NF; next }
NF < 4 || $1 !~ /^[0-9a-f]+$/ { next }
{ section = $(NF - 2); symbol = $NF; sub(/@.*/, "", symbol) }
section == "*UND*" {
    if (symbol in libm) fault("calls " symbol " of libm")
    if (symbol in reason && index(excused[symbol], " " source " ") == 0) fault(symbol " " reason[symbol])
    next
}
$2 == "g" {
    defined++
    stem = source
    sub(/\.c$/, "", stem)
    if (!is_named_after(symbol, stem)) fault("exports " symbol ", which does not start with the file's noun")
}
$3 == "O" && section ~ /^\.(data|bss|tdata|tbss|common)/ && section !~ /^\.data\.rel\.ro/ {
    if (!((source, symbol) in allowed_global)) fault("global or static variable " symbol " is not const")
}
END {
    print defined + 0 " exported symbols looked at"
    exit faults > 0 || defined == 0
}
