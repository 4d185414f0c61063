# The man page of the library: docs/spmm.3.in with its lines @SECTION ... replaced by text from the headers,
# so that each fact is written once.
# Usage: awk -f mk/man.awk docs/spmm.3.in
#     @date FILE              the .TH line, with the date and version of another page
#     @description HEADER     the comment of the file
#     @synopsis HEADER ...    prototypes
#     @status HEADER          rows of SPMM_STATUS_LIST
#     @types HEADER ...       structs and enumerations with their comments
#     @functions HEADER ...   a subsection for each function, with the comment above its prototype
#     @section NAME FILE      a section of another page
#     @program FILE           a source
# The comments of headers are Doxygen comments as CONTRIBUTING.md requires: \param rows, \return, paragraphs,
# lists by "- ", programs between \code and \endcode.

function fail(why) { print "man.awk: " why > "/dev/stderr"; failed = 1; exit 1 }

function troff(s) {
    gsub(/\\/, "\\e", s)
    if (s ~ /^[.']/) s = "\\\\&" s
    return s
}
function code(s) { s = troff(s); gsub(/-/, "\\-", s); return s }
function bold_names(s) {
    gsub(/(spmm|mm)_[a-z_0-9]+\(\)/, "\\fB&\\fP", s)
    return s
}

# prints a comment as troff; \param and \return become tagged paragraphs
function text_of(comment,    n, i, lines, s, tag, at_start, in_code) {
    n = split(comment, lines, "\n")
    at_start = 1
    for (i = 1; i <= n; i++) {
        s = lines[i]
        if (s ~ /^ *\\(end)?code$/) { in_code = s !~ /end/; at_start = 0; print in_code ? ".EX" : ".EE"; continue }
        if (in_code) { print code(substr(s, 2)); continue }
        sub(/^ +/, "", s)
        if (s == "") { if (!at_start) print ".PP"; at_start = 1; continue }
        if (s ~ /^\\param/) {
            sub(/^\\param *(\[[a-z,]*\])? */, "", s)
            tag = s
            # "p, q   text" and "x    text": names end before two blanks, or before the first one without a comma
            if (match(s, /  +/) == 0) match(s, / +/)
            tag = substr(s, 1, RSTART - 1)
            s = substr(s, RSTART + RLENGTH)
            print ".TP"
            print ".I " code(tag)
        } else if (s ~ /^\\return/) {
            sub(/^\\return */, "", s)
            print ".TP"
            print ".B Returns"
        } else if (s ~ /^- /) {
            sub(/^- /, "", s)
            print ".IP \\(bu 2"
        }
        # a \return within a line, as in short contracts
        if (match(s, /\\return /)) {
            print bold_names(troff(substr(s, 1, RSTART - 1)))
            s = substr(s, RSTART + RLENGTH)
            print ".TP"
            print ".B Returns"
        }
        if (s != "") print bold_names(troff(s))
        at_start = 0
    }
}

# reads a header into comment_of_file and items: kind[i] (function or type), name[i], source[i], comment[i]
function read_header(file,    line, comment, inside, part, what) {
    comment_of_file = ""
    items = 0
    comment = ""
    what = ""
    while ((getline line < file) > 0) {
        if (match(line, /^#define SPMM_[A-Z]*_LIST/)) {
            list = substr(line, 9, RLENGTH - 8)
            listed[list] = ""
        }
        if (match(line, /^    [A-Z]\(SPMM_[A-Z_0-9]+/)) list_row(line)
        if (what == "" && line ~ /^\/\*\*/) { inside = 1; comment = "" }
        if (inside) {
            part = line
            sub(/^\/\*\* ?/, "", part)
            sub(/^ \* ? ?/, "", part)
            if (line ~ /\*\/ *$/) { sub(/ *\*?\/ *$/, "", part); inside = 0 }
            comment = comment (comment == "" ? "" : "\n") part
            if (!inside && comment ~ /^\\file/) {
                comment_of_file = comment
                sub(/^[^\n]*\n/, "", comment_of_file)
                comment = ""
            }
            continue
        }
        if (what == "" && line ~ /^typedef/) what = "type"
        else if (what == "" && line ~ /^[a-z][a-z_0-9 ]*[ *]spmm_[a-z_0-9]+\(/) what = "function"
        else if (what == "") continue
        else if (line ~ /^#/) continue
        gsub(/\/\*\*</, "/*", line)
        if (line ~ /^typedef/ || item_source == "") item_source = line
        else {
            if (match(line, /^    SPMM_[A-Z]*_LIST/)) line = listed[substr(line, 5, RLENGTH - 4)] ","
            item_source = item_source "\n" line
        }
        if (what == "function" ? line ~ /;$/ : line ~ /^}.*;$|^typedef.*;$/) {
            items++
            kind[items] = what
            source[items] = item_source
            item_comment[items] = comment
            part = item_source
            if (what == "function") { sub(/\(.*/, "", part); sub(/.*[ *]/, "", part) }
            else { sub(/;$/, "", part); sub(/.*[ }]/, "", part) }
            name[items] = part
            what = item_source = comment = ""
        }
    }
    close(file)
    if (items == 0) fail(file " has no declaration")
}

# a row of a list such as SPMM_STATUS_LIST: S(SPMM_OK, 0, "success")
function list_row(line,    row) {
    sub(/^    [A-Z]\(/, "", line)
    row = line
    sub(/,.*/, "", row)
    listed[list] = listed[list] (listed[list] == "" ? "    " : ",\n    ") row
    sub(/^[^"]*"/, "", line)
    sub(/".*/, "", line)
    texts[list] = texts[list] ".TP\n.B " row "\n" line "\n"
}

function verbatim(s,    n, i, lines) {
    n = split(s, lines, "\n")
    for (i = 1; i <= n; i++) print code(lines[i])
}

function print_items(what,    i) {
    for (i = 1; i <= items; i++)
        if (kind[i] == what) {
            print ".SS " name[i]
            print ".EX"
            verbatim(source[i])
            print ".EE"
            if (item_comment[i] != "") {
                print ".PP"
                text_of(item_comment[i])
            }
        }
}

function section_of(file, title,    line, inside) {
    while ((getline line < file) > 0) {
        if (line ~ /^\.SH/) inside = line == ".SH " title
        else if (inside) print line
    }
    close(file)
}

/^@date/ {
    while ((getline line < $2) > 0) if (line ~ /^\.TH/) { split(line, th, "\""); print ".TH SPMM 3 \"" th[2] "\" \"" th[4] "\" \"Library Functions\"" }
    close($2)
    next
}
/^@description/ { read_header($2); text_of(comment_of_file); next }
/^@synopsis/ {
    for (f = 2; f <= NF; f++) {
        read_header($f)
        for (i = 1; i <= items; i++) if (kind[i] == "function") verbatim(source[i])
    }
    next
}
/^@status/ { texts["SPMM_STATUS_LIST"] = ""; read_header($2); printf "%s", texts["SPMM_STATUS_LIST"]; next }
/^@types/ { for (f = 2; f <= NF; f++) { read_header($f); print_items("type") } next }
/^@functions/ { for (f = 2; f <= NF; f++) { read_header($f); print_items("function") } next }
/^@section/ { section_of($3, $2); next }
/^@program/ {
    while ((getline line < $2) > 0) print code(line)
    close($2)
    next
}
/^@/ { fail("what is " $1 "?") }
{ print }
