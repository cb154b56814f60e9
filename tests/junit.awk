# Sums a meson testlog.junit.xml: prints PASSED FAILED SKIPPED.
BEGIN { RS = "<" }
function number(name) {
    if (!match($0, " " name "=\"[0-9]+\"")) return 0
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) + 0
}
/^testsuite / {
    bad = number("failures") + number("errors")
    skipped = number("skipped")
    good += number("tests") - bad - skipped
    failed += bad
    skips += skipped
}
END { print good + 0, failed + 0, skips + 0 }
