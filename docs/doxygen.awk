# What doxygen reads of the headers: their heads and section comments become pages and groups of its own, and of a
# setter's two overloads (for a builder in a variable, and for one under construction) the second is left out. Lines
# stay where they are.

FNR == 1 { c = FILENAME ~ /\.h$/ }

# rheo.h: /* === / * Title / … / === */ opens a group, which ends where the next one begins.
c && FNR == 1 { print "/** @file */ /** @mainpage Rheo for C and C++"; next }
c && /^\/\* ====/ { print(open ? "/** @} */ " : "") "/**"; open = title = 1; next }
c && title {
    title = 0
    name = id = substr($0, length(" * ") + 1)
    gsub(/[^A-Za-z]/, "_", id)
    print " * @defgroup " id " " name
    next
}
c && /^ \* ====/ { print " * @{ */"; next }
END { if (open) print "/** @} */" }

# rheo.hpp
!c && FNR == 1 { head = 1; sub(/^\/\//, "/// @file rheo.hpp") }
!c && /^$/ { head = 0 }
!c && head { sub(/^\/\/( |$)/, "/// ") }
!c && /^    [A-Za-z].*\) && \{/ { inside = 1 }
!c && inside { if (/\}$/) inside = 0; print ""; next }

{ print }
